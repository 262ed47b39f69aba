"""Schedules that broke a promise once, shrunk to what they needed."""

from __future__ import annotations

import pytest

from jobrelay.simulation import ApiServerKind, Incident, JobPlan, Schedule, play

FOUND = {
    "a run that another leader may have started is on a cluster that was installed anew": Schedule(
        27,
        2,
        (
            JobPlan("job-2", 14.834498589026918, 0.5, fenced=True, stop=5.0),
            JobPlan("job-3", 42.862767121629226, 90, fenced=True, stop=5.0),
        ),
        (
            Incident(28.012540801154994, "stale-retry", "worker-2", 102.26505932286449),
            Incident(54.10088681944882, "wipe", "worker-2"),
        ),
        ApiServerKind.MODEL,
    ),
    "the versions of a restored worker have got further than what was seen": Schedule(
        2943,
        2,
        (JobPlan("job-3", 19.31582964522518, 90, fenced=False),),
        (
            Incident(37.02695019738574, "restore-worker", "worker-1", 5.702570649531545),
            Incident(38.70532948700133, "drain", "worker-1", 35.76113521038431),
        ),
        ApiServerKind.MODEL,
    ),
    "the answer to a creation comes after the worker was restored to a state from before it": Schedule(
        2748,
        2,
        (
            JobPlan("job-1", 13.641149612856728, 90, fenced=False),
            JobPlan("job-2", 16.915300528262442, 30, fenced=False, stop=5.0),
        ),
        (
            Incident(23.314018187088504, "restore", "management", 68.19793714213944),
            Incident(76.85876070770337, "drain-late", "worker-2", 16.111876565641992),
            Incident(87.7489657214573, "restore-worker", "worker-2", 6.6501450818210035),
        ),
        ApiServerKind.MODEL,
    ),
    "of two workers that were cut off one is found again before the other": Schedule(
        5712,
        2,
        (
            JobPlan("job-1", 26.31890255839082, 0.5, fenced=False),
            JobPlan("job-2", 30.38427686947091, 90, fenced=False, stop=5.0),
        ),
        (
            Incident(32.35534154261626, "cut-off", "worker-0", 47.40345240383439),
            Incident(75.65876284523158, "stale-leader", "worker-1", 110.21779329757463),
        ),
        ApiServerKind.MODEL,
    ),
    "an assignment is restored from a mirror that has ended": Schedule(
        50,
        3,
        (
            JobPlan("job-2", 12.13948618924066, 30, fenced=False, stop=5.0),
            JobPlan("job-3", 49.66994346179622, 5, fenced=False, stop=5.0),
        ),
        (Incident(35.57483953447013, "blind-restart", "worker-3", 20.58284686839785),),
    ),
    "the name by which a run was found again is registered no more, and its cluster was installed anew": Schedule(
        2264,
        2,
        (
            JobPlan("job-1", 4.087295203968132, 5, fenced=True),
            JobPlan("job-2", 35.939203288473905, 90, fenced=True),
        ),
        (
            Incident(55.5191528122848, "second-name", "worker-1", 42.87320009423247),
            Incident(64.85598215229628, "cut", "relay-1 worker-1", 99.77861026750304),
            Incident(94.90903160039888, "replace-original", "management"),
            Incident(95.62340946148534, "wipe", "worker-1"),
        ),
        ApiServerKind.MODEL,
    ),
    "an assignment that a user has written does not say which cluster has the name of its worker": Schedule(
        6685,
        3,
        (JobPlan("job-2", 44.48604228818979, 90, fenced=True),),
        (
            Incident(64.04963340582172, "blind-restart", "worker-2", 21.639636717585162),
            Incident(84.95879939271248, "forge-assignment", "management"),
            Incident(166.90327240620283, "repoint", "worker-2", 15.711288821903512),
        ),
        ApiServerKind.MODEL,
    ),
    "an original is written again and again in a version that the watch has not left yet": Schedule(
        12147,
        3,
        (JobPlan("job-2", 40.976355206551624, 0.5, fenced=True),),
        (
            Incident(30.641203747296757, "lag", "relay-1 management", 116.23489575822184),
            Incident(45.26471533695091, "touch", "management", 18.57505789730542),
        ),
        ApiServerKind.MODEL,
    ),
    "an assignment is removed, and the worker of its run is not registered any more when a relay starts": Schedule(
        14578,
        2,
        (JobPlan("job-1", 8.958674437709316, 30, fenced=True, stop=5.0),),
        (
            Incident(24.539641411541513, "blind-restart", "worker-1", 27.999015080551686),
            Incident(29.949282405925885, "unregister", "worker-1", 35.6283959534457),
        ),
        ApiServerKind.MODEL,
    ),
    "an assignment is removed, and the mirror of its run was deleted without its pods": Schedule(
        15367,
        3,
        (JobPlan("job-1", 46.88485621403122, 90, fenced=False, stop=5.0),),
        (
            Incident(63.25970031741342, "orphan-mirror", "worker-1"),
            Incident(80.0245998236097, "blind-restart", "worker-3", 26.58272750008082),
        ),
        ApiServerKind.MODEL,
    ),
    "an assignment is removed, and the mirror of its run has lost its label": Schedule(
        15696,
        2,
        (JobPlan("job-3", 12.752053740123028, 90, fenced=False, stop=5.0),),
        (
            Incident(26.9329736923884, "blind-restart", "worker-2", 21.926457314548273),
            Incident(40.97315919127744, "unmark-mirror", "worker-2", 116.04116539673763),
        ),
        ApiServerKind.MODEL,
    ),
    "a worker is removed, and the clock of the relay is put forward": Schedule(
        17390,
        2,
        (JobPlan("job-1", 20.355322366063497, 90, fenced=True),),
        (
            Incident(61.30285767870099, "unregister", "worker-1", 42.20586208836202),
            Incident(65.56612555281981, "clock", "relay-2", amount=60.0),
        ),
        ApiServerKind.EMBEDDED,
    ),
    "a backup brings back that a Job is suspended": Schedule(
        14879,
        2,
        (JobPlan("job-2", 3.099195849129897, 90, fenced=False),),
        (
            Incident(45.745021149858204, "suspend", "management", 10.761406429043584),
            Incident(47.21021227758305, "restore", "management", 12.711505259364014),
        ),
        ApiServerKind.MODEL,
    ),
}


@pytest.mark.parametrize("schedule", FOUND.values(), ids=FOUND.keys())
def test_it_breaks_none_any_more(schedule: Schedule) -> None:
    outcome = play(schedule)
    assert outcome.broken == [], "\n".join(outcome.story)
