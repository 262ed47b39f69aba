"""The pods of mirrors on their workers: which they are, what is wrong with them, and the last part of their logs.

Most is known without a request, since the capacity of a worker is counted from a watch of its pods. What that watch
does not show, such as events and pods that have failed, is read on demand (`inspector`), and only for workloads that
seem to have a problem.
"""
