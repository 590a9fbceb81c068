package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/tune"
	"github.com/extsort/extsort/internal/profile"
)

// writeMeasured tells what was measured of the machine beside what was taken before, and which plans that changes.
func writeMeasured(w io.Writer, before, now *plan.Profile, disks map[string]plan.Disk) error {
	was, is := before.Rates(), now.Rates()
	earlier := map[bool]string{true: "before", false: "assumed"}[was.Measured]
	lines := [][]string{{"measured, of one worker", earlier, "now"}}
	for _, r := range []struct {
		what    string
		text    func(float64) string
		was, is float64
	}{
		{"read from the page cache", perSecond, was.ReadBytes, is.ReadBytes},
		{"write to the page cache", perSecond, was.WriteBytes, is.WriteBytes},
		{"copy in memory", perSecond, was.CopyBytes, is.CopyBytes},
		{"sort a key of 8 bytes", nanoseconds, was.SortNanoseconds, is.SortNanoseconds},
		{"fetch a record", nanoseconds, was.GatherNanoseconds, is.GatherNanoseconds},
		{"send a record to its part", nanoseconds, was.ScatterNanoseconds, is.ScatterNanoseconds},
		{"merge a key, each level", nanoseconds, was.MergeNanoseconds, is.MergeNanoseconds},
	} {
		lines = append(lines, []string{r.what, r.text(r.was), r.text(r.is)})
	}
	writeTable(w, lines)
	for _, id := range slices.Sorted(maps.Keys(disks)) {
		d := disks[id]
		fmt.Fprintf(w, "disk of %s: read %s, by many requests at a time %s, write %s, both at a time %s each way\n",
			d.Folder, rate(int64(d.Read), 1), rate(int64(d.Fetch), 1), rate(int64(d.Write), 1), rate(int64(d.Mixed), 1))
	}
	fmt.Fprintln(w)
	return writePlansOf(w, earlier, before, now)
}

func perSecond(r float64) string { return humanBytes(int64(r)) + "/s" }

func nanoseconds(ns float64) string { return fmt.Sprintf("%.1f ns", ns) }

// writePlansOf tells how some usual sorts are planned with each of two profiles.
func writePlansOf(w io.Writer, earlier string, before, now *plan.Profile) error {
	lines := [][]string{{"expected of a sort of", earlier, "now"}}
	changed := 0
	for _, u := range profile.Usuals {
		was, err := u.Plan(before, processors)
		if err != nil {
			return err
		}
		is, err := u.Plan(now, processors)
		if err != nil {
			return err
		}
		if was.Strategy != is.Strategy {
			changed++
		}
		lines = append(lines, []string{u.Name, string(was.Strategy) + ", " + known(was.Seconds),
			string(is.Strategy) + ", " + known(is.Seconds)})
	}
	writeTable(w, lines)
	fmt.Fprintf(w, "%d of these %d sorts are planned another way now.\n", changed, len(profile.Usuals))
	return nil
}

func showTuning(w io.Writer) error {
	k := profile.Known()
	if k.Profile == nil {
		fmt.Fprintln(w, "nothing is kept of this machine: sorts are planned by the rates of another (extsort tune measures)")
	} else {
		fmt.Fprintf(w, "measured on %s by %q, kept in %s\n\n", k.Measured.Format(time.DateOnly), k.Command, k.File)
		if err := writeMeasured(w, plan.DefaultProfile(), profile.LoadOn(spill.DefaultFolder()), k.Disks); err != nil {
			return err
		}
	}
	for _, info := range extsort.Devices().Devices {
		if t := tune.Load(info); t != nil && info.Kind != device.CPU {
			fmt.Fprintf(w, "\n%d: %s (%s)\n", info.Index, info.Name, info.Driver)
			if err := tune.WriteText(w, *t); err != nil {
				return err
			}
		}
	}
	return nil
}

func resetTuning(w io.Writer) error {
	forget := []func() (string, error){profile.Forget}
	for _, info := range extsort.Devices().Devices {
		forget = append(forget, func() (string, error) { return tune.Forget(info) })
	}
	removed := 0
	for _, f := range forget {
		name, err := f()
		if err != nil {
			return err
		}
		if name != "" {
			removed++
			fmt.Fprintf(w, "removed %s\n", name)
		}
	}
	if removed == 0 {
		fmt.Fprintln(w, "nothing is kept of this machine or its devices")
	}
	return nil
}
