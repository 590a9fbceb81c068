package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device/bench"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/tune"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/internal/session"
)

// tuneFlags selects the device to tune and the time for it.
type tuneFlags struct {
	device  string
	budget  time.Duration
	keys    []opencl.KeyKind
	count   int64
	folders []string
	show    bool
	reset   bool
}

// tuneTrialFlags defines flags that select the measurements.
func tuneTrialFlags(g group, v *flagValues) {
	f := &v.tune
	f.budget = tune.DefaultBudget
	for _, d := range []definition{
		g.add(text(&f.device, "DEVICE"), "device,d",
			"the device, by number or name (see extsort devices); otherwise the GPU").
			hints("gpu").offers("cpu", "gpu"),
		g.add(parsed(&f.budget, "TIME", parseTime), "budget",
			"approximate time for the device, such as 30s or 5m; otherwise "+
				strings.TrimSuffix(tune.DefaultBudget.String(), "0s")).
			hints("time", "duration"),
		g.add(listOf(&f.keys, "TYPES", opencl.ParseKeyKind), "type,t",
			"only these key types: u32, u64, u32+u32, u64+u32 (with a 32-bit index); otherwise all").
			hints("keys", "types").offers("u32", "u64", "u32+u32", "u64+u32"),
		g.add(amount(&f.count, "COUNT", parseCount), "count,n",
			"number of keys to sort, such as 1M or 2^24; otherwise enough to keep the device busy").
			hints("records"),
		g.add(textList(&f.folders, "DIR"), "temporary-directory,T",
			"measure the disk of DIR, which takes a few seconds and up to 768M of space; "+
				"repeatable; otherwise TMPDIR, else /var/tmp").
			hints("tmpdir", "tmp", "temp-dir").directory(),
	} {
		d.notWith("--show", "--reset")
	}
}

// tuneStoreFlags defines flags that show or remove stored measurements.
func tuneStoreFlags(g group, v *flagValues) {
	g.bool(
		&v.tune.show,
		"show",
		"only show the stored measurements and how they change plans",
	).
		hints("list").notWith("--reset")
	g.bool(
		&v.tune.reset,
		"reset",
		"only remove the stored measurements of this machine and its devices",
	).
		hints("clear", "forget")
}

func (a *app) tuneCommand() *cobra.Command {
	v := &flagValues{}
	f := &v.tune
	return verb("tune [flags]",
		"Measure this machine and its disks to make plans more accurate, and find the\n"+
			"best parameters for a GPU or another OpenCL device. The results are stored in\n"+
			"the user's cache directory, where later sorts find them.",
		"  extsort tune\n  extsort tune -T /scratch -T /data\n  extsort tune -d 2 --budget 5m\n  extsort tune --show\n"+
			"  extsort tune --reset",
		v, func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.show:
				return showTuning(cmd.Context(), a.out)
			case f.reset:
				return resetTuning(cmd.Context(), a.out)
			}
			return a.tune(cmd.Context(), f)
		})
}

func (a *app) tune(ctx context.Context, f *tuneFlags) error {
	info, err := pickDevice(ctx, f.device)
	if err != nil {
		return err
	}
	if !info.Host && !opencl.Owns(info) {
		return fmt.Errorf(
			"tune: device %d (%s) has no parameters to tune: name an OpenCL device",
			info.Index,
			info.Name,
		)
	}
	if err := a.tuneMachine(ctx, f.folders); err != nil {
		return err
	}
	if info.Host {
		fmt.Fprintln(
			a.out,
			"no GPU to tune: name another OpenCL device with -d (extsort devices lists them)",
		)
		return nil
	}
	bed, err := bench.NewResident(info)
	if err != nil {
		return err
	}
	defer bed.Close()
	fmt.Fprintf(
		a.out,
		"%d: %s (%s), %s\n",
		info.Index,
		info.Name,
		info.Driver,
		f.budget,
	)
	found, err := tune.Search(ctx, bed, tune.Options{
		Budget: f.budget, Records: f.count, Keys: f.keys,
		OnTrial: func(t tune.Trial) { fmt.Fprintf(a.out, "  %v\n", t) },
	})
	if err != nil {
		return err
	}
	if err := tune.WriteText(a.out, found); err != nil {
		return err
	}
	name, err := opencl.SaveTuning(info, found.Merge(opencl.LoadTuning(info)))
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "stored in %s\n", name)
	return nil
}

func (a *app) tuneMachine(ctx context.Context, folders []string) error {
	if len(folders) == 0 {
		folders = []string{spill.DefaultFolder()}
	}
	for _, folder := range folders {
		if err := checkFolder(folder); err != nil {
			return err
		}
	}
	before := profile.Load().ProfileFor(folders[0])
	found, disks, err := profile.Measure(ctx, folders)
	if err != nil {
		return err
	}
	kept, err := profile.Save(found, disks, strings.Join(os.Args, " "))
	if err != nil {
		return err
	}
	if err := writeMeasured(a.out, before, kept.ProfileFor(folders[0]), disks); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "stored in %s\n", kept.File)
	return a.out.err
}

// writeMeasured compares the new measurements of the machine with the old ones, and shows which
// plans change.
func writeMeasured(
	w io.Writer, before, now *plan.Profile, disks map[string]plan.Disk,
) error {
	was := before.Rates()
	is := now.Rates()
	earlier := map[bool]string{true: "before", false: "assumed"}[was.Measured]
	lines := [][]string{{"measured for one worker", earlier, "now"}}
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
		{"move a record to its part", nanoseconds, was.ScatterNanoseconds, is.ScatterNanoseconds},
		{"merge a key, per level", nanoseconds, was.MergeNanoseconds, is.MergeNanoseconds},
	} {
		lines = append(lines, []string{r.what, r.text(r.was), r.text(r.is)})
	}
	writeTable(w, lines)
	for _, id := range slices.Sorted(maps.Keys(disks)) {
		d := disks[id]
		fmt.Fprintf(
			w,
			"disk of %s: read %s, write %s, both at once %s each way\n",
			d.Folder,
			human.Rate(int64(d.Fetch), 1),
			human.Rate(int64(d.Write), 1),
			human.Rate(int64(d.Mixed), 1),
		)
	}
	fmt.Fprintln(w)
	return writePlansOf(w, earlier, before, now)
}

func perSecond(r float64) string { return human.PerSecond(r) }

func nanoseconds(ns float64) string {
	return fmt.Sprintf("%.1f ns", ns)
}

// writePlansOf compares the plans of some common sorts for two profiles.
func writePlansOf(
	w io.Writer, earlier string, before, now *plan.Profile,
) error {
	lines := [][]string{{"predicted for a sort of", earlier, "now"}}
	changed := 0
	for _, u := range profile.TypicalSorts {
		was, err := u.Plan(before, processors)
		is, alsoErr := u.Plan(now, processors)
		if err = cmp.Or(err, alsoErr); err != nil {
			return err
		}
		if was.Strategy != is.Strategy {
			changed++
		}
		lines = append(
			lines,
			[]string{u.Name, string(was.Strategy) + ", " + predictedTime(was.Seconds),
				string(is.Strategy) + ", " + predictedTime(is.Seconds)},
		)
	}
	writeTable(w, lines)
	fmt.Fprintf(
		w,
		"These measurements change the strategy of %d of these %d sorts.\n",
		changed,
		len(profile.TypicalSorts),
	)
	return nil
}

func showTuning(ctx context.Context, w io.Writer) error {
	k := profile.LoadMeasured()
	if k.File == "" {
		fmt.Fprintln(
			w,
			"this machine has not been measured yet; plans use default rates (run extsort tune)",
		)
	} else {
		fmt.Fprintf(
			w,
			"measured on %s with %q, stored in %s\n\n",
			k.Measured.Format(time.DateOnly),
			k.Command,
			k.File,
		)
		if err := writeMeasured(
			w,
			plan.DefaultProfile(),
			k.ProfileFor(spill.DefaultFolder()),
			k.Disks,
		); err != nil {
			return err
		}
	}
	for _, info := range session.Devices(ctx).Devices {
		t := opencl.LoadTuning(info)
		if t != nil {
			fmt.Fprintf(
				w, "\n%d: %s (%s)\n", info.Index, info.Name, info.Driver,
			)
			tune.WriteText(w, *t) // w remembers any error
		}
	}
	return nil
}

func resetTuning(ctx context.Context, w io.Writer) error {
	removed := 0
	tell := func(name string, err error) error {
		if err == nil && name != "" {
			removed++
			fmt.Fprintf(w, "removed %s\n", name)
		}
		return err
	}
	err := tell(profile.Forget())
	for _, info := range session.Devices(ctx).Devices {
		if err == nil {
			err = tell(opencl.ForgetTuning(info))
		}
	}
	if err == nil && removed == 0 {
		fmt.Fprintln(
			w,
			"nothing to remove: this machine and its devices have not been measured",
		)
	}
	return err
}
