package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/internal/dist"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/internal/session"
)

const distLong = `Sort on many machines that share a file system. Your scheduler runs the tasks:
each task is one command that you can repeat; it skips finished work. For the
flags of a verb, see extsort dist VERB --help.

Usage:
  extsort dist plan [flags] DIR FILE ...   plan the sort of FILEs in DIR
  extsort dist run --part K/N DIR          sort slices of the input into runs
  extsort dist cut --part K/N DIR          find where parts begin in the runs
  extsort dist merge --part K/N DIR        merge parts of the output
  extsort dist verify DIR                  verify and complete the output
  extsort dist status DIR                  show the progress
  extsort dist script SCHEDULER DIR        print a script with all tasks
  extsort dist cat DIR                     write all parts, one after another

Exit status: 0 success, 75 a temporary error (run it again), 2 any other error.`

// distFlags contains the values of flags that only the verbs of dist have.
type distFlags struct {
	request    dist.Request // without the record and the data around the records
	singleFile string
	simulation simulation
	resources  dist.TaskResources // for script
	part       string             // for run, cut, merge and verify
	keepRuns   bool
	readAll    bool
	json       bool
	output     string // for cat
}

func distCommand(a *app) *cobra.Command {
	cmd := verb(
		"dist VERB [flags] DIR",
		"",
		`  extsort dist plan -t u64 -o sorted /shared/plan /shared/keys-*.bin
  extsort dist script slurm /shared/plan > sort.sh && bash sort.sh
  extsort dist status /shared/plan`,
		&flagValues{},
		nil,
	)
	cmd.Long = distLong
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		verbs := inWords(verbNames(cmd.Commands()))
		if len(args) == 0 {
			return fmt.Errorf("dist: name a command: %s", verbs)
		}
		return fmt.Errorf("dist: unknown command %q: use %s", args[0], verbs)
	}
	cmd.AddCommand(distPlan(a), distTask(
		a,
		"run",
		"Sort slices of the inputs, each into a run.",
		(*dist.Worker).Run,
	),
		distTask(a, "cut", "Find where each part begins in each run, using the indexes of the runs.",
			(*dist.Worker).Cut),
		distTask(
			a,
			"merge",
			"Merge all runs into parts of the output.",
			(*dist.Worker).Merge,
		),
		distVerify(a), distStatus(a), distScript(a), distCat(a))
	return cmd
}

// distVerb returns a verb below dist. use lists the operands. If it ends in "...", more operands
// may follow.
func distVerb(use, about, example string, v *flagValues,
	run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd := verb("dist "+use, about, example, v, nil)
	cmd.Use = use
	cmd.Short = shortOf(about)
	operands := strings.Fields(strings.ReplaceAll(use, "[flags] ", ""))[1:]
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) < len(operands) && operands[len(operands)-1] != "..." ||
			len(args) == 0 {
			return fmt.Errorf(
				"dist %s: want %s", cmd.Name(), strings.Join(operands, " "),
			)
		}
		if len(args) > len(operands) && operands[len(operands)-1] != "..." {
			return fmt.Errorf(
				"dist %s: unexpected operand %q",
				cmd.Name(),
				args[len(operands)],
			)
		}
		return run(cmd.Context(), args)
	}
	return cmd
}

// shortOf returns the first clause of a text in the form of a verb's short description.
func shortOf(about string) string {
	clause := strings.ReplaceAll(about, "\n", " ")
	clause, _, _ = strings.Cut(clause, ". ")
	clause, _, _ = strings.Cut(clause, ": ")
	clause = strings.TrimSuffix(clause, ".")
	return strings.ToLower(clause[:1]) + clause[1:]
}

func distOutputFlags(g group, v *flagValues) {
	g.add(text(&v.dist.request.Output, "OUTDIR"), "output,o",
		"write one file per part into directory OUTDIR, or one object per part below s3://BUCKET/PREFIX").
		sets(option.Output).directory()
	g.add(text(&v.dist.singleFile, "FILE"), "into", "write all parts into one FILE")
}

func distPlanFlags(g group, v *flagValues) {
	r := &v.dist.request
	r.RunBytes = 16 << 30
	g.add(
		wholeNumber(&r.Runs, "R", 1),
		"runs",
		"sort the input as R runs; otherwise by --run-size",
	)
	g.add(amount(&r.RunBytes, "SIZE", parseByteLimit), "run-size",
		"approximate size of each run; fast if twice that size fits in memory; otherwise 16G").
		notWith("--runs")
	g.add(
		wholeNumber(&r.Parts, "P", 1),
		"parts",
		"write the output as P equal parts; otherwise as many as runs",
	)
	g.bool(&r.NoIndex, "no-index",
		"write no index of keys for each run; dist cut then reads single records of the runs")
}

func distPlan(a *app) *cobra.Command {
	v := &flagValues{}
	return distVerb("plan [flags] DIR FILE ...",
		"Plan the sort of FILEs, in this order, as tasks for many machines, and write\nDIR/plan.json. FILEs contain plain "+
			"records. They are files that all machines can\nread under the same names, or objects (s3://BUCKET/KEY, "+
			"https://HOST/FILE).",
		"  extsort dist plan -t u64 --runs 64 -o sorted plan keys-*.bin\n"+
			"  extsort dist plan -R 16 -k 0:u64 --into sorted.bin plan log.bin",
		v, func(ctx context.Context, args []string) error {
			inputs, err := v.inputNames(args[1:], a.stdin)
			if err != nil {
				return err
			}
			r, err := v.distRequest(inputs)
			if err != nil {
				return err
			}
			return planDist(ctx, a, &v.dist.simulation, args[0], r)
		})
}

// distRequest returns the request that the flags and the inputs of a plan describe.
func (v *flagValues) distRequest(inputs []string) (dist.Request, error) {
	r := v.dist.request
	r.Inputs = inputs
	r.Record = v.opt.Record
	r.Reverse = v.opt.Reverse
	r.SkipBytes = v.opt.SkipBytes
	r.InputRecords = v.opt.Records
	r.SkipTail = v.opt.SkipTail
	if v.dist.singleFile == "" {
		return r, nil
	}
	if r.Output != "" {
		return r, errors.New(
			"-o and --into cannot be combined: write one file per part, or one in total",
		)
	}
	r.Output = v.dist.singleFile
	r.OneFile = true
	return r, nil
}

func planDist(
	ctx context.Context, a *app, sim *simulation, folder string, r dist.Request,
) error {
	if err := cmp.Or(validateRecord(r.Record), sim.validate()); err != nil {
		return err
	}
	if err := sim.checkPlot(a, folder, r); err != nil {
		return err
	}
	p, err := dist.CreatePlan(ctx, folder, r)
	if err != nil {
		return err
	}
	if err := sim.openPlot(ctx); err != nil { // the file may be in the directory that Make created
		return err
	}
	defer sim.plot.discard()
	cost := p.Estimate(profile.Load().ProfileFor(spill.DefaultFolder()), processors)
	simulated, err := sim.run(ctx, p, cost)
	if err != nil {
		return err
	}
	each := func(n int) string {
		return fmt.Sprintf("%d of %s each", n, human.Bytes(p.Bytes()/int64(n)))
	}
	rows := append([]row{
		{"records", humanize.Comma(p.Records) + ", " + plural(p.RecordBytes, "byte") + " each"},
		{"runs", each(p.Runs)}, {"parts", each(p.Parts)},
		{"tasks", fmt.Sprintf(
			"%d run, %d cut, %d merge, 1 verify",
			p.Runs,
			dist.CutTasks(p),
			p.Parts,
		)},
		{"I/O", human.Bytes(cost.Moved) + " read and " + human.Bytes(cost.Moved) + " written"},
		{
			"predicted",
			fmt.Sprintf(
				"%s per run, %s per merge, on a machine like this one",
				human.Estimate(cost.RunSeconds),
				human.Estimate(cost.Merge),
			),
		},
	}, simulated...)
	next := "extsort dist script " + strings.Join(dist.Schedulers, "|") + " " + shellWord(folder)
	writeRows(a.out, append(rows, row{"next", next}))
	return nil
}

// withPlan returns a function that reads the plan in DIR, the last operand, and runs a verb with
// it.
func withPlan(a *app, opt *session.Options,
	do func(ctx context.Context, w *dist.Worker, args []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		p, err := dist.ReadPlan(args[len(args)-1])
		if err != nil {
			return err
		}
		tell := func(line string) { fmt.Fprintln(a.notes, "extsort: "+line) }
		return do(ctx, &dist.Worker{
			Plan:    p,
			Options: *opt,
			Tell:    tell,
		}, args)
	}
}

func distTaskFlags(g group, v *flagValues) {
	g.add(text(&v.dist.part, "K/N"), "part",
		"run share K of N of the tasks, K from 0; auto takes K and N from the environment of "+
			"MPI, Slurm, AWS Batch, Cloud Run, Kubernetes or SGE; otherwise all").
		offers("auto")
}

// distTask returns the command run, cut or merge.
func distTask(
	a *app,
	name, about string,
	do func(*dist.Worker, context.Context, session.Part) error,
) *cobra.Command {
	v := &flagValues{}
	return distVerb(name+" [flags] DIR", about+"\nFinished tasks are skipped.",
		fmt.Sprintf(
			"  extsort dist %s --part 3/8 plan\n  extsort dist %s --part auto -S 32G plan",
			name,
			name,
		),
		v, withPlan(a, &v.opt, func(ctx context.Context, w *dist.Worker, _ []string) error {
			tasks := map[string]int{
				"run":   w.Plan.Runs,
				"cut":   dist.CutTasks(w.Plan),
				"merge": w.Plan.Parts,
			}
			s, err := tasksOf(tasks[name], v.dist.part)
			if err != nil {
				return err
			}
			return do(w, ctx, s)
		}))
}

// tasksOf returns the share of n tasks that this process runs. text is a part K/N, "auto" for the
// part that a scheduler assigned, or "" for all tasks.
func tasksOf(n int, text string) (session.Part, error) {
	switch text {
	case "":
		return session.Part{N: 1}, nil
	case "auto":
		return dist.Detect(n, os.Getenv)
	}
	part, err := parsePart(text)
	if err != nil {
		err = fmt.Errorf("--part: %w", err)
	}
	return part, err
}

func distVerifyFlags(g group, v *flagValues) {
	g.add(text(&v.dist.part, "K/N"), "part",
		"only read the parts of share K of N, K from 0, and compare their checksums; otherwise "+
			"combine the checksums of all tasks and complete the output").
		offers("auto")
	g.bool(
		&v.dist.keepRuns, "keep-runs", "keep the files of the runs",
	).notWith("--part")
	g.bool(
		&v.dist.readAll,
		"all",
		"read all parts, too, and check their order and checksums",
	).notWith("--part")
}

func distVerify(a *app) *cobra.Command {
	v := &flagValues{}
	return distVerb("verify [flags] DIR",
		"Use the checksums of the tasks to check that the parts follow each other and\ncontain all records of the inputs. "+
			"Then give the output of --into its final\nname, and remove the runs.",
		"  extsort dist verify plan\n  extsort dist verify --part 3/8 plan",
		v, withPlan(a, &v.opt, func(ctx context.Context, w *dist.Worker, _ []string) error {
			s, err := tasksOf(w.Plan.Parts, v.dist.part)
			if err != nil {
				return err
			}
			if v.dist.part != "" {
				return w.ReadBack(ctx, s)
			}
			m, err := w.Verify(ctx, v.dist.keepRuns)
			if err == nil && v.dist.readAll {
				err = w.ReadBack(ctx, s)
			}
			if err == nil {
				fmt.Fprintf(
					a.out,
					"%s: %s in order, checksum %s\n",
					m.Output,
					plural(m.Records, "record"),
					m.Checksum,
				)
			}
			return err
		}))
}

func distStatusFlags(g group, v *flagValues) {
	g.bool(&v.dist.json, "json", "print one JSON object")
}

func distStatus(a *app) *cobra.Command {
	v := &flagValues{}
	return distVerb(
		"status [flags] DIR",
		"Show which tasks are done and what to run next.",
		"  extsort dist status plan",
		v,
		withPlan(a, &v.opt, func(ctx context.Context, w *dist.Worker, args []string) error {
			s, err := w.Plan.Status(ctx)
			if err != nil {
				return err
			}
			if v.dist.json {
				return json.NewEncoder(a.out).Encode(s)
			}
			next := "nothing: the output is complete in " + w.Plan.Output
			if s.Next != "" {
				next = fmt.Sprintf(
					"extsort dist %s %s", s.Next, shellWord(args[0]),
				)
			}
			writeRows(a.out, []row{
				{
					"runs",
					taskProgress(s.Runs, s.RunsLeft),
				}, {"cut", textIf(s.Cut, "done") + textIf(!s.Cut, "not done")},
				{"parts", taskProgress(s.Parts, s.Left)},
				{"next", next},
			})
			return nil
		}),
	)
}

// taskProgress formats the number of completed tasks and the list of missing ones.
func taskProgress(all int, left []int) string {
	return fmt.Sprintf(
		"%d of %d done", all-len(left), all,
	) + textIf(len(left) > 0, ", missing: %s", dist.Ranges(left))
}

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

func distCatFlags(g group, v *flagValues) {
	g.add(text(&v.dist.output, "FILE"), "output,o",
		"write to FILE or an object, completely or not at all; otherwise standard "+
			"output")
}

func distCat(a *app) *cobra.Command {
	v := &flagValues{}
	return distVerb("cat [flags] DIR", "Write the parts of a complete output, one after another.",
		"  extsort dist cat -o sorted.bin plan\n  extsort dist cat plan | zstd > sorted.zst",
		v, withPlan(a, &v.opt, func(ctx context.Context, w *dist.Worker, _ []string) error {
			if err := a.checkOutput(v.dist.output); err != nil {
				return err
			}
			if v.dist.output == "" || v.dist.output == "-" {
				return w.Plan.Cat(ctx, a.stdout)
			}
			return w.Plan.CatTo(ctx, v.dist.output)
		}))
}
