package main

import (
	"fmt"
	"slices"
	"strings"
)

// The limits beyond which the confined table reports a row.
const (
	maxPerTwo   = 1.25 // maximum ratio to two cp+sync, unless mostPerTwo overrides it
	minDiskRate = 0.85 // minimum disk throughput, relative to cp+sync
	// Minimum share of all processors busy in the program; if it is reached, the disk may be
	// slower.
	minBusy = 0.9
)

var mostPerTwo = map[string]float64{"nearly-sorted": 0.8, "100-byte": 1.2}

// coldFigures are figures of a row that only the confined table contains, medians of the last
// version.
type coldFigures struct {
	twoCopies      summary
	rate, copyRate float64 // bytes per second of the disk, for extsort and for cp+sync
	device         traffic // traffic of the disk, including other processes
	copyDevice     traffic // the same for cp+sync
	processes      traffic
	user, system   float64 // CPU seconds
	elapsed        float64 // seconds
	peak           float64 // bytes
	peers          []string
}

func (l *tableLog) coldFigures(
	row string, last version, versions []version,
) coldFigures {
	runs := l.successfulRuns(row, last.auto())
	copies := l.successfulRuns(row, syncedCopy)
	return coldFigures{
		twoCopies:  l.summary(row, twoSyncedCopies),
		rate:       medianOf(runs, entry.diskRate),
		copyRate:   medianOf(copies, entry.diskRate),
		device:     medianTraffic(runs, entry.device),
		copyDevice: medianTraffic(copies, entry.device),
		processes: medianTraffic(runs, func(e entry) traffic {
			return traffic{e.Read, e.Written}
		}),
		user:    medianOf(runs, func(e entry) float64 { return e.User }),
		system:  medianOf(runs, func(e entry) float64 { return e.System }),
		elapsed: medianOf(runs, func(e entry) float64 { return e.Seconds }),
		peak: medianOf(runs, func(e entry) float64 {
			return float64(e.Peak)
		}),
		peers: l.peerTimes(row, versions),
	}
}

func medianTraffic(runs []entry, of func(entry) traffic) traffic {
	return traffic{
		read: int64(medianOf(runs, func(e entry) float64 {
			return float64(of(e).read)
		})),
		written: int64(medianOf(runs, func(e entry) float64 {
			return float64(of(e).written)
		})),
	}
}

// device returns the bytes that the disk read and wrote during a run.
func (e entry) device() traffic {
	return traffic{e.DeviceRead, e.DeviceWritten}
}

// diskRate returns the bytes per second that the disk read and wrote during a run.
func (e entry) diskRate() float64 {
	return ratio(float64(e.DeviceRead+e.DeviceWritten), e.Seconds)
}

// peerTimes returns the names and seconds of the contenders of a row that are neither yardsticks
// nor extsort.
func (l *tableLog) peerTimes(row string, versions []version) []string {
	var all []string
	for _, e := range l.runs {
		known := slices.Contains(
			[]string{plainCopy, syncedCopy, twoSyncedCopies}, e.Contender,
		) ||
			slices.ContainsFunc(versions, func(v version) bool {
				return v.runs(e.Contender)
			})
		if e.Row == row && e.Failed == "" && !known {
			all = append(
				all, e.Contender+" "+seconds(l.summary(row, e.Contender)),
			)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (t *tableReport) confined() bool { return t.start.Limit > 0 }

// writeConfinement describes the conditions of the runs.
func (t *tableReport) writeConfinement(b *strings.Builder) {
	for _, p := range t.start.Peers {
		fmt.Fprintf(b, "Peer: %s  \n", p)
	}
	fmt.Fprintf(b, "Memory of processes and page cache: %s (cgroup %s); extsort -S %s  \n",
		binarySize(t.start.Limit), t.start.Cgroup, exactSize(t.start.Limit/2))
	b.WriteString(
		"Medians in seconds [minimum–maximum], in random order. The input is only on disk, and the output is durable. " +
			"Disk rates and bytes include all processes of the machine.\n\n",
	)
}

// perTwo returns the ratio of the last version to two copies.
func (r rowResult) perTwo() float64 {
	return ratio(r.lastVersion().Median, r.cold.twoCopies.Median)
}

// confinedColumns are columns for the last version.
var confinedColumns = []column{
	{"cp+sync", false, func(r rowResult) string { return seconds(r.sync) }},
	{"two cp+sync", false, func(r rowResult) string {
		return seconds(r.cold.twoCopies)
	}},
	{"× cp+sync", false, func(r rowResult) string {
		return times(ratio(r.lastVersion().Median, r.sync.Median))
	}},
	{"× two", false, func(r rowResult) string { return times(r.perTwo()) }},
	predictedColumn, ranColumn, foreseenColumn, bestColumn, regretColumn,
	{"disk reads / writes", false, func(r rowResult) string {
		return r.cold.device.String()
	}},
	{"of cp+sync", false, func(r rowResult) string {
		return r.cold.copyDevice.String()
	}},
	{"MiB/s there", false, func(r rowResult) string {
		return mebibytes(r.cold.rate)
	}},
	{"of cp+sync", false, func(r rowResult) string {
		return mebibytes(r.cold.copyRate)
	}},
	{"reads / writes of processes", false, func(r rowResult) string {
		return r.cold.processes.String()
	}},
	{"CPU s (user + system)", false, func(r rowResult) string {
		return r.cold.processorSeconds()
	}},
	{"peak memory", false, func(r rowResult) string {
		return sizeText(int64(r.cold.peak))
	}},
	{"peers", true, func(r rowResult) string {
		return strings.Join(r.cold.peers, "; ")
	}},
}

// String returns the bytes read and written, or "" if they are unknown.
func (t traffic) String() string {
	if t == (traffic{}) {
		return ""
	}
	return binarySize(t.read) + " / " + binarySize(t.written)
}

// mebibytes formats a number of bytes in MiB without the unit, or returns "" for 0.
func mebibytes(bytes float64) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", bytes/(1<<20))
}

func (c coldFigures) processorSeconds() string {
	if c.user+c.system == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f + %.2f", c.user, c.system)
}

// confinedBounds returns the limits that only the confined table has.
func (t *tableReport) confinedBounds() []bound {
	return []bound{
		{"Above 1.25 × two cp+sync (0.8 × nearly sorted, 1.2 × 100-byte records)", func(r rowResult) string {
			return remarkAbove(r.perTwo(), r.mostPerTwo(), "")
		}},
		{
			"At the disk below 0.85 × the rate of cp, and processors below 90 % busy in the program",
			t.idle,
		},
	}
}

func (r rowResult) mostPerTwo() float64 {
	workload, _, _ := strings.Cut(r.name, "/")
	if most, ok := mostPerTwo[workload]; ok {
		return most
	}
	return maxPerTwo
}

// idle returns a remark if both the disk and the processors are below their limits.
func (t *tableReport) idle(r rowResult) string {
	disk := ratio(r.cold.rate, r.cold.copyRate)
	busy := ratio(r.cold.user, r.cold.elapsed*float64(t.start.Machine.Cores))
	if disk == 0 || disk >= minDiskRate || busy >= minBusy {
		return ""
	}
	return fmt.Sprintf("%.2f, processors %.0f %%", disk, 100*busy)
}
