package main

import _ "time/tzdata" // time zones of digests, on a machine or in a container without zoneinfo
