"""What can be known of loops, and across calls, before the program runs. Passes ask; nothing is rewritten here."""

from passes.loops.known_values import KnownValues, Place
from passes.loops.trip_count import Counter, CountRefused, Trips, count_trips, known_trip_count, trips_of

__all__ = [
    "CountRefused",
    "Counter",
    "KnownValues",
    "Place",
    "Trips",
    "count_trips",
    "known_trip_count",
    "trips_of",
]
