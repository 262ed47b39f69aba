"""Tests of Jobs and CronJobs."""
