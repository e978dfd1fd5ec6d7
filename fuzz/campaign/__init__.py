"""Runs many graphs through passes in several processes, keeps every finding, and counts what was seen."""

from fuzz.campaign.campaign import Campaign, Progress, Result
from fuzz.campaign.children import HarnessError
from fuzz.campaign.plan import Plan, Programs
from fuzz.campaign.reductions import Bucket
from fuzz.campaign.statistics import GRAPHS, SWITCHED, VOTED, Statistics, Table

__all__ = [
    "GRAPHS",
    "SWITCHED",
    "VOTED",
    "Bucket",
    "Campaign",
    "HarnessError",
    "Plan",
    "Programs",
    "Progress",
    "Result",
    "Statistics",
    "Table",
]
