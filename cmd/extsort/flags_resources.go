package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/internal/option"
)

// The flags for the resources of a run.

func memoryFlag(g group, v *flagValues) {
	addMemory(g, v, "memory limit of the whole run, at least 16M, or a percentage of the machine's memory; "+
		"otherwise 50%").notWith("--join")
}

// readMemoryFlag is memoryFlag of verbs that read records, Parquet and Arrow files.
func readMemoryFlag(g group, v *flagValues) {
	addMemory(g, v, "memory limit for Parquet and Arrow files, and for compressed files, whose windows get a quarter of "+
		"it; otherwise 50%, or 4G for compressed files")
}

// textMemoryFlag is memoryFlag of verbs that read text.
func textMemoryFlag(g group, v *flagValues) {
	addMemory(g, v, "memory limit for compressed files, whose windows get a quarter of it; otherwise 4G")
}

// addMemory adds -S with a description of the caller.
func addMemory(g group, v *flagValues, about string) definition {
	return g.add(amount(&v.opt.MemoryBytes, "SIZE", parseMemory), "buffer-size,S", about).
		sets(option.MemoryBytes).hints("memory", "mem", "ram")
}

// windowBytes returns the largest window of a decompressor, in bytes.
func (v *flagValues) windowBytes() int64 {
	const (
		share  = 4 // of the memory limit
		normal = 1 << 30
	)
	if v.opt.MemoryBytes == 0 {
		return normal
	}
	return v.opt.MemoryBytes / share
}

func tempDirFlag(g group, v *flagValues) {
	g.add(textList(&v.opt.TempDirs, "DIR"), "temporary-directory,T",
		"directory for temporary data; repeat -T to use several disks in parallel; otherwise TMPDIR, else /var/tmp").
		sets(option.TempDirs).hints(
		"tmpdir", "tmp", "temp-dir",
	).notWith("-c").directory()
}

func checkpointFlag(g group, v *flagValues) {
	g.add(text(&v.opt.Checkpoint, "DIR"), "checkpoint",
		"keep finished work in DIR; after a crash, the same command resumes from it").
		sets(option.Checkpoint).hints("resume").notWith("-c", "-m").directory()
}

func parallelFlag(g group, v *flagValues) {
	v.opt.Workers = processors
	addParallel(g, workerCount(&v.opt.Workers))
}

// addParallel adds --parallel with a value of the caller.
func addParallel(g group, value pflag.Value) {
	g.add(value, "parallel", "number of worker threads; otherwise one for each processor").
		sets(option.Workers).hints("threads", "workers", "jobs").notWith("--join")
}

func deviceFlag(g group, v *flagValues) {
	g.add(textList(&v.opt.Devices, "DEVICE"), "device,d",
		"sort on DEVICE: auto, cpu, gpu, or a number or name from extsort devices; repeatable; otherwise auto").
		sets("Options.Devices").hints("gpu").notWith("-c", "-m").offers("auto", "cpu", "gpu")
}

func deviceMemoryFlag(g group, v *flagValues) {
	g.add(amount(&v.opt.DeviceMemory, "SIZE", parseByteLimit), "device-memory",
		"limit the memory used on each device; otherwise all free memory").
		sets(option.DeviceMemory).notWith("-c", "-m")
}

func strategyFlag(g group, v *flagValues) {
	v.opt.Strategy = "auto"
	g.add(oneOf(&v.opt.Strategy, "HOW", plan.Requestable()...), "strategy",
		"strategy of the sort ("+strategyHints()+")").
		sets(option.Strategy).notWith("-c", "-m")
}

func algorithmFlag(g group, v *flagValues) {
	g.add(text(&v.opt.Algorithm, "NAME"), "algorithm",
		"sort with algorithm NAME (extsort devices lists them); otherwise the device's choice").
		sets(option.Algorithm).notWith("-c", "-m")
}

func digitBitsFlag(g group, v *flagValues) {
	g.add(wholeNumber(&v.opt.DigitBits, "N", 1), "digit-bits",
		"on OpenCL devices, sort by N bits in each pass; otherwise the device's choice").
		sets(option.DigitBits).notWith("-c", "-m")
}

func spillCompressFlag(g group, v *flagValues) {
	v.opt.SpillCompress = "auto"
	g.add(oneOf(
		&v.opt.SpillCompress, "KIND", plan.SpillCodecNames()...,
	), "spill-compress",
		"compression of temporary data").
		sets(option.SpillCompress).hints("compress-program").notWith("-c")
}

func batchSizeFlag(g group, v *flagValues) {
	g.add(wholeNumber(&v.opt.BatchSize, "N", 2), "batch-size",
		"merge at most N runs at once; otherwise as many as memory and open files allow").
		sets(option.BatchSize).notWith("-c")
}

// strategyHints describes the strategies whose names are not self-explanatory.
func strategyHints() string {
	var hints []string
	for _, s := range plan.Requestable() {
		hint := plan.Strategy(s).Properties().Hint
		if hint != "" {
			hints = append(hints, s+": "+hint)
		}
	}
	return strings.Join(hints, "; ")
}
