package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dustin/go-humanize"
	"github.com/klauspost/cpuid/v2"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/drivers"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/internal/testfiles"
)

var update = flag.Bool("update", false, "rewrite testdata/plans.txt with the plans as they are now")

// The golden plans assume the same profile and the same size of the second-level cache on every
// machine. Chunks derive the size of their buckets from the cache size. The program reads the cache
// size only once, so init sets it before anything else can read it.
func init() {
	cpuid.CPU.Cache.L2 = 1 << 20
	machineProfile = func() (*plan.Profile, func(string) plan.Disk) {
		return plan.DefaultProfile(), new(profile.Stored).DiskOf
	}
}

const plansFile = "../../testdata/plans.txt"

// TestGoldenPlans compares the plan for each row of facts in testdata/plans.txt with the plan in
// the file. With -update, it rewrites the plans. The commit must then explain the changes.
func TestGoldenPlans(t *testing.T) {
	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update in CI: golden plans change only in a commit that explains them")
	}
	if testfiles.Race {
		t.Skip("one goroutine plans, and with the race detector it takes long")
	}
	machine := newPlanMachine(t)
	var after strings.Builder
	rows := 0
	for _, row := range readPlans(t) {
		fmt.Fprintln(&after, row.text)
		if row.facts == nil {
			continue
		}
		rows++
		got := strings.Join(formatPlan(machine.plan(t, *row.facts)), "\n")
		fmt.Fprintln(&after, got)
		if want := strings.Join(row.plan, "\n"); got != want && !*update {
			t.Errorf("%s:%d: %s\n%s\nis planned, want\n%s", plansFile, row.line, row.text, got, want)
		}
	}
	if rows < minPlans {
		t.Errorf("%d rows, want %d at least", rows, minPlans)
	}
	if *update {
		testfiles.Write(t, plansFile, []byte(after.String()))
	}
}

const minPlans = 150

// A planRow is a line of the golden file. A line of facts includes the plan below it.
type planRow struct {
	line  int
	text  string
	facts *planFacts // nil: a comment, an empty line or the defaults
	plan  []string
}

// readPlans parses the golden file. A line that it cannot parse fails the test.
func readPlans(t *testing.T) (rows []planRow) {
	t.Helper()
	content := testfiles.Read(t, plansFile)
	var defaults planFacts
	var err error
	seen := map[string]bool{}
	for i, text := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
		row := planRow{line: i + 1, text: text}
		switch words, isDefaults := strings.CutPrefix(text, "defaults "); {
		case text == "" || text[0] == '#':
		case text[0] == '\t' && (len(rows) == 0 || rows[len(rows)-1].facts == nil):
			err = errors.New("a plan without facts")
		case text[0] == '\t':
			rows[len(rows)-1].plan = append(rows[len(rows)-1].plan, text)
			continue
		case isDefaults:
			defaults, err = parseDefaults(words)
		case seen[text]:
			err = errors.New("these facts are there already")
		default:
			var facts planFacts
			facts, err = parseFacts(defaults, text)
			row.facts, seen[text] = &facts, true
		}
		if err != nil {
			t.Fatalf("%s:%d: %v", plansFile, i+1, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// planFacts contains the facts for a plan. Sizes are in bytes, rates in bytes per second.
type planFacts struct {
	records int64       // -1: unknown
	record  format.Spec // description of a record
	sample  string      // one of format.Distributions
	limit   int64       // 0: all
	unique  bool

	// File, pipe, remote: an object of a store; gzip, zstd, s2: a compressed stream.
	input  string
	cached bool // the page cache holds the input
	disk   float64
	// File, pipe, remote: an object of a store, inplace: the file that is the input.
	output    string
	compress  string // of the output
	tmpfs     bool   // the output is in memory
	spillDisk bool   // temporary files are on a disk even if the output is not
	free      int64  // free space for temporary files; -1: unknown

	rates   plan.Disk // the measured rates of every disk
	oneDisk bool      // input, output and temporary files are on the same disk

	memory, systemMemory int64
	workers, fanIn       int // fanIn 0: what memory allows
	devices              []string
	gpus                 int // number of GPUs; each of them has:
	gpuMemory            int64
	gpuLink, gpuSort     float64 // 0: unknown

	strategy   Strategy
	codec      string // for spill files
	checkpoint bool   // an empty one
}

// planned is the part of a plan that the golden file contains.
type planned struct {
	err         string // why there is no plan
	candidates  []plannedCandidate
	transitions []plan.Transition // of the chosen candidate
	device      string

	chunkRecords, temp, stored, kept int64
	chunks, fanIn, levels            int
	block, workers                   int
}

type plannedCandidate struct {
	strategy Strategy
	possible bool
	seconds  float64
}

// factParsers read the value of each key of a line of facts.
var factParsers = map[string]func(f *planFacts, value string) error{
	"records": func(f *planFacts, v string) error { return parseCount(&f.records, v) },
	"type":    parseRecord,
	"sample":  func(f *planFacts, v string) error { return oneOf(&f.sample, v, format.Distributions...) },
	"limit":   func(f *planFacts, v string) error { return parseCount(&f.limit, v) },
	"unique":  func(f *planFacts, v string) error { return parseYes(&f.unique, v) },
	"input": func(f *planFacts, v string) error {
		return oneOf(&f.input, v, "file", "pipe", "remote", "gzip", "zstd", "s2")
	},
	"cached":     func(f *planFacts, v string) error { return parseYes(&f.cached, v) },
	"disk":       func(f *planFacts, v string) error { return parseRate(&f.disk, v) },
	"output":     func(f *planFacts, v string) error { return oneOf(&f.output, v, "file", "pipe", "inplace", "remote") },
	"compress":   func(f *planFacts, v string) error { return oneOf(&f.compress, v, "none", "gzip", "zstd", "s2") },
	"tmpfs":      func(f *planFacts, v string) error { return parseYes(&f.tmpfs, v) },
	"spilldisk":  func(f *planFacts, v string) error { return parseYes(&f.spillDisk, v) },
	"free":       func(f *planFacts, v string) error { return parseCount(&f.free, v) },
	"rates":      parseRates,
	"onedisk":    func(f *planFacts, v string) error { return parseYes(&f.oneDisk, v) },
	"memory":     func(f *planFacts, v string) error { return parseCount(&f.memory, v) },
	"sysmem":     func(f *planFacts, v string) error { return parseCount(&f.systemMemory, v) },
	"workers":    func(f *planFacts, v string) error { return parseCount(&f.workers, v) },
	"fanin":      func(f *planFacts, v string) error { return parseCount(&f.fanIn, v) },
	"device":     func(f *planFacts, v string) error { f.devices = strings.Split(v, ","); return nil },
	"gpus":       func(f *planFacts, v string) error { return parseCount(&f.gpus, v) },
	"gpumemory":  func(f *planFacts, v string) error { return parseCount(&f.gpuMemory, v) },
	"gpulink":    func(f *planFacts, v string) error { return parseRate(&f.gpuLink, v) },
	"gpusort":    func(f *planFacts, v string) error { return parseRate(&f.gpuSort, v) },
	"strategy":   func(f *planFacts, v string) error { return oneOf(&f.strategy, v, append(anyStrategy, Spread)...) },
	"codec":      func(f *planFacts, v string) error { return oneOf(&f.codec, v, "auto", "none", "delta", "s2", "zstd") },
	"checkpoint": func(f *planFacts, v string) error { return parseYes(&f.checkpoint, v) },
}

// parseFacts parses a line of key=value words. Facts that the line omits are taken from defaults.
func parseFacts(defaults planFacts, line string) (planFacts, error) {
	f, seen := defaults, map[string]bool{}
	for _, word := range strings.Fields(line) {
		key, value, _ := strings.Cut(word, "=")
		parse, ok := factParsers[key]
		if !ok || seen[key] {
			return f, fmt.Errorf("%q: no such fact, or given twice", word)
		}
		seen[key] = true
		if err := parse(&f, value); err != nil {
			return f, fmt.Errorf("%q: %w", word, err)
		}
	}
	return f, nil
}

// parseDefaults parses a line that contains all facts.
func parseDefaults(line string) (planFacts, error) {
	for key := range factParsers {
		if !strings.Contains(" "+line, " "+key+"=") {
			return planFacts{}, fmt.Errorf("no default of %s", key)
		}
	}
	return parseFacts(planFacts{}, line)
}

// TestDisksOfFacts checks that the facts include the disk of an input file, but no disk for
// standard input and imagined inputs.
func TestDisksOfFacts(t *testing.T) {
	kept := machineProfile
	defer func() { machineProfile = kept }()
	var asked []string
	machineProfile = func() (*plan.Profile, func(string) plan.Disk) {
		return plan.DefaultProfile(), func(name string) plan.Disk { asked = append(asked, name); return plan.Disk{} }
	}
	name := writeFile(t, make([]byte, plan.SmallBytes))
	in := testfiles.Open(t, name, os.O_RDONLY)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("standard input", nil, 0o600); err != nil { // its name in messages
		t.Fatal(err)
	}
	opt := Options{Record: format.Spec{Type: "u64"}, TempDirs: []string{t.TempDir()}, Output: name + ".sorted", Stdin: in}
	for _, c := range []struct {
		plan func(Options) (*SortPlan, error)
		want []string
	}{
		{func(o Options) (*SortPlan, error) { o.Inputs = []string{name}; return Plan(t.Context(), o) }, []string{name}},
		{func(o Options) (*SortPlan, error) { return Plan(t.Context(), o) }, nil},
		{func(o Options) (*SortPlan, error) { return PlanFor(t.Context(), o, 1<<24) }, nil},
	} {
		asked = nil
		if _, err := c.plan(opt); err != nil {
			t.Fatal(err)
		}
		asked = slices.DeleteFunc(asked, func(name string) bool { return name == opt.Output || name == opt.TempDirs[0] })
		if !slices.Equal(asked, c.want) {
			t.Errorf("the disks of %q are asked for, want %q", asked, c.want)
		}
	}
}

// TestImaginedInputIsAskedAhead plans for an imagined input. The plan reads it at the rate of its
// disk with several concurrent requests, as in a real sort.
func TestImaginedInputIsAskedAhead(t *testing.T) {
	kept := machineProfile
	defer func() { machineProfile = kept }()
	machineProfile = func() (*plan.Profile, func(string) plan.Disk) {
		return plan.DefaultProfile(), func(string) plan.Disk { return plan.Disk{ID: "1", Fetch: 1e8, Write: 1e8} }
	}
	opt := Options{Record: format.Spec{Type: "u64"}, MemoryBytes: 4 << 30, TempDirs: []string{t.TempDir()}, Output: "out"}
	p, err := PlanFor(t.Context(), opt, 1e8)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Stages[0]; s.Name != plan.StageRead || s.Seconds < 8 || s.Seconds > 16 {
		t.Errorf("800 MB at 100 MB/s: %+v", s)
	}
}

// parseCount parses a whole number with Ki, Mi … for powers of 1024 and K, M … for powers of
// 1000. "unknown" is -1.
func parseCount[T int | int64](to *T, value string) error {
	if value == "unknown" {
		*to = -1
		return nil
	}
	n, err := humanize.ParseBytes(value)
	*to = T(n)
	return err
}

func parseRate(to *float64, value string) error {
	var n int64
	err := parseCount(&n, value)
	*to = float64(n)
	return err
}

// parseRates parses the bytes per second at which a disk reads, writes, and does both at once (the
// rate in each direction), such as 3G/2G/1G. "none" means not measured.
func parseRates(f *planFacts, value string) error {
	if f.rates = (plan.Disk{}); value == "none" {
		return nil
	}
	rates := strings.Split(value, "/")
	if len(rates) != 3 {
		return errors.New("want three rates, or none")
	}
	return errors.Join(parseRate(&f.rates.Fetch, rates[0]), parseRate(&f.rates.Write, rates[1]),
		parseRate(&f.rates.Mixed, rates[2]))
}

func parseYes(to *bool, value string) error {
	var word string
	err := oneOf(&word, value, "yes", "no")
	*to = word == "yes"
	return err
}

func oneOf[T ~string](to *T, value string, words ...T) error {
	if *to = T(value); !slices.Contains(words, *to) {
		return fmt.Errorf("is none of %v", words)
	}
	return nil
}

// parseRecord parses a type of bare keys, or the size of a record and its keys, such as
// 100,0:bytes10.
func parseRecord(f *planFacts, value string) error {
	size, keys, _ := strings.Cut(value, ",")
	f.record = format.Spec{Type: value}
	if n, err := strconv.Atoi(size); err == nil {
		f.record = format.Spec{RecordSize: n, Keys: strings.Split(keys, ",")}
	}
	return f.record.Validate()
}

// formatPlan shows a plan in lines that begin with a tab: the candidates, the chosen one first,
// and its figures.
func formatPlan(p planned) []string {
	if p.err != "" {
		return []string{"\terror: " + p.err}
	}
	var possible, not []string
	for _, c := range p.candidates {
		if c.possible {
			possible = append(possible, fmt.Sprintf("%s %s", c.strategy, formatSeconds(c.seconds)))
		} else {
			not = append(not, string(c.strategy))
		}
	}
	lines := []string{
		fmt.Sprintf("\t%s | not %s", strings.Join(possible, ", "), cmp.Or(strings.Join(not, ", "), "any")),
		fmt.Sprintf("\tdevice=%s chunk=%s chunks=%d fanin=%d levels=%d block=%s workers=%d temp=%s stored=%s kept=%s",
			p.device, formatCount(p.chunkRecords), p.chunks, p.fanIn, p.levels, formatCount(int64(p.block)), p.workers,
			formatCount(p.temp), formatEstimate(p.stored), formatCount(p.kept)),
	}
	for _, t := range p.transitions {
		lines = append(lines, "\tor "+t.String())
	}
	return lines
}

func formatSeconds(s float64) string {
	return threeDigits(s) + "s"
}

// threeDigits rounds an estimate, because its exact value may differ between machines.
func threeDigits(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		panic(err)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// formatEstimate formats a whole number with three digits, in the syntax of parseCount.
func formatEstimate(n int64) string {
	x, unit := float64(n), 0
	for x >= 1000 {
		x, unit = x/1000, unit+1
	}
	return threeDigits(x) + []string{"", "K", "M", "G", "T", "P", "E"}[unit]
}

// formatCount formats a whole number in the syntax of parseCount, with the largest power of 1024
// that divides it.
func formatCount(n int64) string {
	if n < 0 {
		return "unknown"
	}
	unit := 0
	for n > 0 && n%1024 == 0 {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatInt(n, 10) + []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}[unit]
}

// planMachine makes plans with the current planner for simulated data on simulated machines.
type planMachine struct {
	empty   string // a file that is used for every input
	samples map[string]plan.Sample
}

func newPlanMachine(t *testing.T) *planMachine {
	system, disk, kept := systemMemory, isOnDisk, machineProfile
	table := drivers.Table
	t.Cleanup(func() {
		systemMemory, isOnDisk, machineProfile = system, disk, kept
		drivers.Table = table
	})
	return &planMachine{empty: writeFile(t, nil), samples: map[string]plan.Sample{}}
}

const spillFolder, outputFolder = "/spill", "/output"

func (m *planMachine) plan(t *testing.T, f planFacts) planned {
	t.Helper()
	systemMemory = func() int64 { return f.systemMemory }
	isOnDisk = func(folder string) bool {
		return f.spillDisk && folder == filepath.FromSlash(spillFolder) ||
			!f.tmpfs && folder == filepath.FromSlash(outputFolder)
	}
	machineProfile = func() (*plan.Profile, func(string) plan.Disk) {
		return plan.DefaultProfile(), func(folder string) plan.Disk {
			d := f.rates
			if d.ID = folder; f.oneDisk {
				d.ID = "the disk"
			}
			return d
		}
	}
	s, err := prepare(t.Context(), m.options(t, f), true) // like Sort, which reads pipes
	if err != nil {
		return planned{err: err.Error()}
	}
	defer s.close()
	made := s.run.Plan
	planAgain(t, s.run.Facts, made)
	p := planned{
		transitions: made.Considered[0].Transitions,
		device:      made.Device, chunkRecords: made.ChunkRecords,
		temp: made.TempBytes, stored: made.StoredBytes, kept: made.KeptBytes,
		chunks: made.Chunks, fanIn: made.FanIn, levels: made.MergeLevels, block: made.BlockBytes, workers: made.Workers,
	}
	for _, c := range made.Considered {
		p.candidates = append(p.candidates, plannedCandidate{c.Strategy, c.Possible, c.Seconds})
	}
	return p
}

// planAgain checks that the planner is a pure function: the same facts give the same plan and are
// not changed.
func planAgain(t *testing.T, facts *plan.Facts, want *plan.Plan) {
	t.Helper()
	profile, _ := machineProfile()
	before := fmt.Sprintf("%+v", *facts)
	got, err := plan.Choose(facts, profile)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the same facts give another plan, error %v:\n%+v, want\n%+v", err, got, want)
	}
	if after := fmt.Sprintf("%+v", *facts); after != before {
		t.Errorf("Choose changed the facts:\n%s, before\n%s", after, before)
	}
}

// options returns the options of a sort with these facts.
func (m *planMachine) options(t *testing.T, f planFacts) Options {
	t.Helper()
	opt := Options{
		Record: f.record, Limit: f.limit, Unique: f.unique, MemoryBytes: f.memory, Workers: f.workers, BatchSize: f.fanIn,
		TempDirs: []string{filepath.FromSlash(spillFolder)}, Devices: f.devices, Strategy: f.strategy, SpillCompress: f.codec,
		Compress: f.compress,
	}
	opt.Output, opt.Stdout = filepath.Join(filepath.FromSlash(outputFolder), "out"), io.Discard
	switch f.output {
	case "file":
	case "remote":
		opt.Output = "s3://bucket/out"
	default:
		opt.Output = ""
	}
	if f.checkpoint {
		opt.Checkpoint, opt.TempDirs = filepath.FromSlash(spillFolder), nil
	}
	if opt.faults.remote = f.input == "remote"; opt.faults.remote || f.input == "file" {
		opt.Inputs = []string{m.empty}
	} else {
		opt.Stdin = bytes.NewReader([]byte(compressedStarts[f.input]))
	}
	if f.output == "inplace" {
		opened := testfiles.Open(t, m.empty, os.O_RDWR)
		opt.Stdout = opened
	}
	opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset { return plannedData{d, f, m} }
	opt.faults.wrapDevice = func(d device.Device) device.Device { return namedDevice{d} }
	opt.faults.spillStore = roomyStore{free: f.free}
	opt.faults.readBytes = f.disk
	if f.cached {
		opt.faults.readBytes = plan.DefaultProfile().ReadBytes
	}
	drivers.Table = []device.Driver{cpu.Driver, plannedDriver{opencl.Driver, f}}
	return opt
}

// plannedDriver lists the GPUs of a plan, which have the limits of OpenCL devices.
type plannedDriver struct {
	device.Driver // of OpenCL
	facts         planFacts
}

func (plannedDriver) Installed() bool { return true }

func (d plannedDriver) List(context.Context) (all []device.Info, err error) {
	for i := range d.facts.gpus {
		all = append(all, plannedGPU{index: i + 1, facts: d.facts}.Info())
	}
	return all, nil
}

func (d plannedDriver) Open(_ context.Context, info device.Info, _ device.OpenOptions) (device.Device, error) {
	return plannedGPU{index: info.Index, facts: d.facts}, nil
}

// compressedStarts are the first bytes of compressed streams, see format.Detect.
var compressedStarts = map[string]string{
	"gzip": "\x1f\x8b\b\x00\x00\x00\x00\x00\x00\x03",
	"zstd": "\x28\xb5\x2f\xfd",
	"s2":   "\xff\x06\x00\x00S2sTwO",
}

// plannedData is a dataset that consists only of a sample.
type plannedData struct {
	chunker.Dataset
	facts   planFacts
	machine *planMachine
}

func (d plannedData) Records() int64 { return d.facts.records }

// Sample returns the keys of records at the positions that a real dataset would sample: groups
// spread over a file, or the start of a stream.
func (d plannedData) Sample(_ context.Context, k format.Prefixer, n int) (plan.Sample, error) {
	layout := k.Layout()
	n = plan.SampleLimit(n, layout.RecordSize)
	group := min(16, max(1, 4096/layout.RecordSize))
	records := d.facts.records
	if d.facts.input != "file" && d.facts.input != "remote" {
		n = min(n, max(1, 1<<20/layout.RecordSize))
		group = n
	}
	if records < 0 {
		records = 1 << 30
	}
	n = int(min(int64(n), records))
	id := fmt.Sprintf("%#v %s %d %d %d", layout, d.facts.sample, records, n, group)
	if s, ok := d.machine.samples[id]; ok {
		return s, nil
	}
	s, err := makeSample(layout, d.facts.sample, records, n, group)
	d.machine.samples[id] = s
	return s, err
}

// makeSample makes the prefixes of n records, in groups evenly spread over all of them.
func makeSample(layout format.Layout, dist string, records int64, n, group int) (s plan.Sample, err error) {
	layout.RecordSize = 0
	for _, field := range layout.Key {
		layout.RecordSize = max(layout.RecordSize, field.Offset+field.Type.Size)
	}
	k, err := format.NewKeyer(layout)
	if err != nil {
		return s, err
	}
	g, err := format.NewGenerator(layout, dist, 1, records)
	if err != nil {
		return s, err
	}
	prefixes := make([]uint64, n)
	places, recs := (n+group-1)/group, make([]byte, group*layout.RecordSize)
	for i := range places {
		part := prefixes[i*group : min((i+1)*group, n)]
		at := (records - int64(len(part))) / int64(max(places-1, 1)) * int64(i)
		g.Fill(recs[:len(part)*layout.RecordSize], at)
		k.Prefixes(part, recs[:len(part)*layout.RecordSize])
	}
	return plan.NewSample(prefixes), nil
}

// roomyStore has the free space that the facts specify.
type roomyStore struct {
	spill.Disk
	free int64
}

func (s roomyStore) Free([]string) int64 { return s.free }

// namedDevice is the CPU under a name that does not depend on the machine.
type namedDevice struct{ device.Device }

func (d namedDevice) Info() device.Info {
	info := d.Device.Info()
	if info.Host {
		info.Name = "cpu"
	}
	return info
}

// plannedGPU is a GPU that cannot sort.
type plannedGPU struct {
	*cpu.Device
	index int
	facts planFacts
}

func (g plannedGPU) Info() device.Info {
	return device.Info{
		Index: g.index, Name: fmt.Sprintf("gpu%d", g.index), Kind: device.GPU, Automatic: true,
		MemoryBytes: g.facts.gpuMemory, LinkRate: g.facts.gpuLink, SortRate: g.facts.gpuSort,
	}
}

func (g plannedGPU) Capabilities(device.ChunkOptions) device.Capabilities {
	return device.Capabilities{}
}

func (g plannedGPU) BlockBytes(opt device.ChunkOptions, _ int64) int { return opt.BlockBytes }

// MaxRecords returns about the same as for an OpenCL device. The device stores bare keys twice.
// For records, it stores keys and indexes twice, next to the records, which are on the device or
// in host memory.
func (g plannedGPU) MaxRecords(opt device.ChunkOptions, memoryBytes int64) int64 {
	layout := opt.Keyer.Layout()
	size, room := int64(layout.RecordSize), g.facts.gpuMemory/16*15
	switch {
	case memoryBytes < 8*size:
		return 0
	case layout.IsBare() && size <= 8:
		return room / (2 * max(size, 4))
	}
	const sorted = 2 * (8 + 4)
	return max(room/(size+sorted), min(room/sorted, memoryBytes/size))
}
