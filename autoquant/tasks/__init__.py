"""The graded track: three fixed quant tasks on two indices, replayed and graded by one strict ladder each.

spec, specs/        what each task says, asks and pays for     replay     positions to profit, one pass
solution            a file in its sandbox                      scan       look-ahead that can be read off the text
truth, references/  the figures to come to                     lookahead  look-ahead that shows when it runs
ground              what a task is graded on                   grade      the rungs, and how far a solution got
grader              from a file to a grade                     episode    twenty steps, one hidden test
server, openenv_*   episodes for clients elsewhere             explore    what an episode shows of the bars
door                which of their messages are passed on      command    `arena.py tasks …`; text: its words
"""
