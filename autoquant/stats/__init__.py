"""Statistics: arrays in, numbers out. What is missing is None, what is random takes a Generator.

sharpe         moments, PSR, interval, MinTRL             maximum     E[max of N], exact and closed form, its inverse
trials         effective number N*, groups of ideas       multiple    SR0, DSR in both pairings, MinBTL, Holm, Šidák
overfitting    PBO by CSCV, its noise band                reality     SPA and StepM, studentised
difference     Ledoit-Wolf test of two Sharpe ratios      compare     all pairs, Holm, tie groups
standings      score intervals, probability of best       separation  months or replicates that would tell two apart
placebo        p-values from placebo races, no-skill band bootstrap   stationary and circular draws, block length
replicates     Welch's test of repeated races             recursion   how a competitor climbed
conventions    the words to print beside each figure      arrays      checked series and panels
proportion     Wilson interval of a share

Two figures stay honest when each attempt edits the champion: a fresh holdout and a placebo race. DSR, SPA and PBO treat
the attempts as a fixed set and are optimistic.
"""
