package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/internal/dist"
)

func distScriptFlags(g group, v *flagValues) {
	g.add(wholeNumber(&v.dist.resources.Tasks, "N", 1), "tasks",
		"divide the runs, and the parts, among N tasks; otherwise one task for each, at most 1000")
	g.add(parsed(&v.opt.MemoryBytes, "SIZE", parseMemory), "buffer-size,S",
		"memory limit of each task; otherwise half of the memory of its machine or cgroup").
		hints("memory", "mem", "ram")
}

// distScriptParallelFlag is parallelFlag for the machines that run the tasks. They may have more processors than this
// one, and by default each task chooses for itself.
func distScriptParallelFlag(g group, v *flagValues) {
	addParallel(g, wholeNumber(&v.opt.Workers, "N", 1))
}

func distScript(a *app) *cobra.Command {
	v := &flagValues{}
	return distVerb("script [flags] SCHEDULER DIR",
		"Print a script for "+inWords(dist.Schedulers)+" that runs the tasks of a plan in\norder. Each task requests "+
			"processors for its workers, and a GPU if -d names one.\nRead and adapt the script before you run "+
			"it; nothing is submitted.",
		"  extsort dist script slurm -d gpu --parallel 8 plan > sort.sh\n  extsort dist script local -S 8G plan | sh",
		v, withPlan(a, &v.opt, func(_ context.Context, w *dist.Worker, args []string) error {
			use := v.dist.resources
			use.MemoryBytes, use.Workers, use.Devices = v.opt.MemoryBytes, v.opt.Workers, v.opt.Devices
			text, err := w.Plan.Script(args[0], use)
			fmt.Fprint(a.out, text)
			return err
		}))
}
