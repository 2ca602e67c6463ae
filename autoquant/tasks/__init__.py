"""The graded track: three fixed quant tasks on two indices, replayed and graded by one strict ladder each.

specs        what each task says, asks and pays for     replay    positions to profit, one pass
candles      the two indices as a solution sees them    scan      look-ahead that can be read off the text
ladder       the rungs                                  lookahead look-ahead that shows when it runs
grader       from a file to a grade                     episode   twenty steps, one hidden test
"""
