"""AutoQuant: which coding agent is the better quant researcher?"""

__version__ = "0.1.0"
