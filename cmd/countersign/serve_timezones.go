package main

import _ "time/tzdata" // time zones for digests, if the machine or container has no zoneinfo
