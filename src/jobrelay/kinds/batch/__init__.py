"""The kinds of batch: Jobs and CronJobs."""
