package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
)

// A scenario is one run. Its seed determines all of it.
type scenario struct {
	seed   uint64
	layout layout
	verb   string // sort, merge or check
	count  int    // number of records
	shape  string // distribution and order of the keys
	flags  []string

	reverse, unique, faulty bool // faulty: an input of a merge or check is out of order
	limit                   int  // 0: none
	part, parts             int  // if parts is 0, all records

	// Output other than records: argsort u32, argsort u64, count, duplicates or aggregate; "": none.
	form       string
	aggregated aggregates // of form aggregate
	isLong     bool       // the input is a stream larger than the memory limit
	keptHeader bool       // the output has the same bytes around the records as the first input
	dashed     bool       // names of inputs begin with a dash

	inputs []input
	output output
	spills int // number of directories for -T

	signal       syscall.Signal // 0: none
	moments      []float64      // times of the signal, as fractions of the time of an undisturbed run
	checkpointed bool           // a checkpoint lets the sort continue after a signal
}

// An input is one file, or standard input.
type input struct {
	records  []byte
	kind     string // compression
	streams  int    // number of streams in a compressed file
	stdin    string // "", pipe or file
	isNamed  bool   // "-" represents standard input
	suffixed bool
	prefix   string // prefix of its name
	header   int    // size of a header written by another program; 0: the header is ours
	before   []byte // bytes at the beginning of the file
	after    []byte // bytes at the end of the file
}

func (in input) name(i int) string {
	if in.suffixed {
		return fmt.Sprint(in.prefix, "in", i, suffixes[in.kind])
	}
	return fmt.Sprint(in.prefix, "in", i)
}

// An output is the destination of the result.
type output struct {
	// File, input (the output replaces the first input), over (it replaces another input), pipe
	// or redirect.
	place    string
	replaced int    // index of the replaced input
	prefix   string // prefix of the name
	kind     string // compression
	byFlag   bool   // selected by --compress, not by a suffix
	oldBytes []byte // previous content of the file; nil: none
	split    int    // number of files of the set; 0: a single file
}

// machine contains the devices that the command can use.
type machine struct{ devices []device }

// A device is a name for -d with the device's algorithms.
type device struct {
	name       string
	algorithms []string
}

// newScenario makes all choices. most is the maximum input size in bytes.
func newScenario(seed uint64, m machine, most int) *scenario {
	r := rand.New(rand.NewPCG(seed, 0x736f616b))
	s := &scenario{
		seed:   seed,
		layout: randomLayout(r),
		verb:   "sort",
	}
	switch r.IntN(10) {
	case 0, 1:
		s.verb = "merge"
	case 2:
		s.verb = "check"
	}
	s.reverse, s.unique = r.IntN(5) == 0, r.IntN(5) == 0
	s.faulty = s.verb != "sort" && r.IntN(3) == 0
	s.count = randomCount(r, s.layout.size, most)
	if s.isLong = s.verb == "sort" && r.IntN(10) == 0; s.isLong {
		s.count = min(
			min(most, 20<<20+r.IntN(60<<20))/s.layout.size, maxRecords,
		)
	}
	s.chooseInputs(r)
	s.chooseOutput(r)
	s.chooseFlags(r, m)
	chooseForm(s, r)
	chooseHeaders(s, r)
	chooseTails(s, r)
	chooseNames(s, r)
	s.chooseSignal(r)
	s.chooseCheckpoint(r)
	choosePart(s, r)
	chooseSet(s, r)
	return s
}

// maxRecords limits the number of records that the oracle has to sort.
const maxRecords = 12_000_000

// randomCount returns 0, 1, a small number, or a number up to the maximum, which may exceed the
// smallest memory limit.
func randomCount(r *rand.Rand, size, most int) int {
	most = min(max(most/size, 2), maxRecords)
	least := min(most-1, 8<<20/size)
	switch n := r.IntN(20); {
	case n < 2:
		return n
	case n < 5:
		return min(2+r.IntN(50), most)
	case n < 9:
		return min(r.IntN(5000), most)
	case n < 14:
		return min(r.IntN(300_000), most)
	}
	return skewed(r, least, most)
}

// chooseInputs generates the records, divides them into inputs, and chooses the form of each
// input.
func (s *scenario) chooseInputs(r *rand.Rand) {
	distribution := distributions[r.IntN(len(distributions))]
	order := orders[r.IntN(len(orders))]
	s.shape = distribution + "/" + order
	records := randomRecords(r, s.layout, s.count, distribution, order)
	n := 1
	if s.verb != "check" && !s.isLong && r.IntN(2) == 0 {
		n = skewed(r, 1, 6)
		if s.verb == "merge" {
			n = skewed(r, 1, 20)
		}
	}
	cuts := []int{0, s.count}
	for range n - 1 {
		cuts = append(cuts, r.IntN(s.count+1))
	}
	slices.Sort(cuts)
	for i := range n {
		s.inputs = append(
			s.inputs,
			s.newInput(
				r, records[cuts[i]*s.layout.size:cuts[i+1]*s.layout.size],
			),
		)
	}
	if r.IntN(3) == 0 {
		s.inputs[r.IntN(n)].stdin = []string{"pipe", "pipe", "file"}[r.IntN(3)]
	}
	if s.isLong {
		s.inputs[0].stdin = "pipe"
	}
	for i := range s.inputs {
		in := &s.inputs[i]
		if in.stdin != "" && in.kind == "brotli" {
			in.kind = "gzip" // brotli is recognized only by the name
		}
	}
}

func (s *scenario) newInput(r *rand.Rand, records []byte) input {
	in := input{
		records: records,
		streams: 1,
		isNamed: r.IntN(2) == 0,
	}
	if s.verb != "sort" {
		in.records = s.order().sorted(records)
		if s.faulty && len(records) > 0 {
			count := len(records) / s.layout.size
			swapRecords(in.records, s.layout.size, r.IntN(count), r.IntN(count))
		}
		if s.unique && s.verb == "check" && r.IntN(2) == 0 {
			in.records = s.order().unique(in.records)
		}
	}
	if r.IntN(4) == 0 {
		in.kind, in.suffixed = []string{"gzip", "zstd", "s2"}[r.IntN(3)], r.IntN(2) == 0
		if r.IntN(4) == 0 {
			in.streams = 2
		}
		if r.IntN(4) == 0 { // brotli is recognized only by the name, and allows only one stream
			in.kind = "brotli"
			in.suffixed = true
			in.streams = 1
		}
	}
	if len(in.records) > 0 &&
		isMistakable(s.layout.encode(in.records[:s.layout.size])) {
		in.kind = "gzip"
	}
	return in
}

// order returns the oracle of the requested order.
func (s *scenario) order() oracle {
	if s.reverse {
		return s.layout.reversed()
	}
	return s.layout.oracle
}

func (s *scenario) chooseOutput(r *rand.Rand) {
	out := &s.output
	out.place = []string{"file", "file", "file", "input", "pipe", "redirect", "over"}[r.IntN(7)]
	out.replaced = r.IntN(len(s.inputs))
	if s.verb == "check" {
		out.place = "pipe"
		return
	}
	if out.place == "input" && s.inputs[0].stdin != "" {
		out.place = "file"
	}
	if out.place == "over" && s.inputs[out.replaced].stdin == "pipe" {
		out.place = "redirect"
	}
	if out.place == "input" && s.inputs[0].suffixed {
		out.kind = s.inputs[0].kind
	}
	if out.place == "file" && r.IntN(3) > 0 {
		out.oldBytes = randomBytes(r, r.IntN(10000))
	}
	if r.IntN(4) == 0 {
		out.kind = []string{"gzip", "zstd", "s2", "brotli", "none"}[r.IntN(5)]
		out.byFlag = out.place != "file" || r.IntN(2) == 0
	}
}

// chooseFlags chooses flags that must not affect the output, and flags that do.
func (s *scenario) chooseFlags(r *rand.Rand, m machine) {
	flag := func(when bool, values ...string) {
		if when {
			s.flags = append(s.flags, values...)
		}
	}
	flag(s.reverse, "-r")
	flag(s.unique, "-u")
	flag(s.isLong, "-S", "16M")
	memory := []string{"16M", "16M", "17M", "20M", "24M", "32M", "64M", "256M", "1G"}[r.IntN(9)]
	flag(!s.isLong && r.IntN(3) > 0, "-S", memory)
	flag(r.IntN(2) == 0, "--parallel", fmt.Sprint(1+r.IntN(8)))
	s.spills = r.IntN(4)
	if s.verb == "check" {
		s.spills = 0 // a check writes no temporary data and rejects -T
		return
	}
	if !s.faulty && r.IntN(6) == 0 {
		s.limit = 1 + skewed(r, 0, s.count+s.count/10)
		flag(true, "--limit", fmt.Sprint(s.limit))
	}
	strategy := []string{"merge", "partition", "reread", "sift", "tally"}[r.IntN(5)]
	flag(r.IntN(2) == 0 && s.verb == "sort", "--strategy", strategy)
	flag(
		r.IntN(2) == 0,
		"--spill-compress",
		[]string{"none", "delta", "s2", "zstd"}[r.IntN(4)],
	)
	flag(r.IntN(6) == 0, "--batch-size", fmt.Sprint(2+r.IntN(20)))
	flag(r.IntN(5) == 0, "--verify")
	flag(s.output.byFlag, "--compress", s.output.kind)
	s.chooseDevice(r, m)
}

// chooseDevice sometimes chooses a device and one of its algorithms.
func (s *scenario) chooseDevice(r *rand.Rand, m machine) {
	if len(m.devices) == 0 || s.verb != "sort" || r.IntN(2) == 0 {
		return // a merge runs on the CPU and rejects -d
	}
	isNumeric := func(f field) bool { return f.numeric }
	if slices.ContainsFunc(s.layout.fields, isNumeric) {
		return // only the CPU sorts this
	}
	d := m.devices[r.IntN(len(m.devices))]
	s.flags = append(s.flags, "-d", d.name)
	if len(d.algorithms) == 0 || r.IntN(2) == 0 {
		return
	}
	name := d.algorithms[r.IntN(len(d.algorithms))]
	isQuadratic := strings.HasPrefix(name, "selection")
	if !isQuadratic ||
		s.count <= 20_000 {
		s.flags = append(s.flags, "--algorithm", name)
	}
}

// chooseSignal chooses a signal for one run in three, several for some. A redirected output is
// then incomplete.
func (s *scenario) chooseSignal(r *rand.Rand) {
	if s.verb == "check" || s.faulty || r.IntN(3) > 0 {
		return
	}
	s.signal = []syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM}[r.IntN(3)]
	for range 1 + r.IntN(4) {
		s.moments = append(s.moments, 1.05*r.Float64())
	}
}

// chooseCheckpoint makes half of the sorts that a signal ends use a checkpoint. Their inputs and
// outputs are files.
func (s *scenario) chooseCheckpoint(r *rand.Rand) {
	mistakable := func(in input) bool {
		return len(in.records) > 0 && isMistakable(
			s.layout.encode(in.records[:s.layout.size]),
		)
	}
	if s.verb != "sort" || s.signal == 0 || r.IntN(2) == 0 ||
		slices.ContainsFunc(s.inputs, mistakable) {
		return
	}
	for i := range s.inputs {
		s.inputs[i].stdin, s.inputs[i].kind, s.inputs[i].suffixed = "", "", false
	}
	s.checkpointed = true
	s.spills = 0
	s.output.place = "file"
	if i := slices.Index(s.flags, "--strategy"); i >= 0 {
		s.flags[i+1] = "merge"
	}
	s.flags = append(s.flags, "--checkpoint", checkpointName)
}

// choosePart sometimes chooses a part, if all inputs can be read from the middle and none is
// replaced.
func choosePart(s *scenario, r *rand.Rand) {
	whole := func(in input) bool { return in.kind != "" || in.stdin != "" }
	of := s.verb == "sort" ||
		s.verb == "merge" && !s.faulty && !(s.unique && s.limit > 0)
	replaced := s.output.place == "input" || s.output.place == "over"
	if !of || s.form != "" || replaced ||
		slices.ContainsFunc(s.inputs, whole) ||
		r.IntN(3) > 0 {
		return
	}
	s.parts = 1 + r.IntN(8)
	s.part = r.IntN(s.parts)
	s.flags = append(s.flags, "--part", fmt.Sprintf("%d/%d", s.part, s.parts))
}

// checkpointName is the directory of the checkpoint.
const checkpointName = "kept"

// String returns the scenario as a line of the log.
func (s *scenario) String() string {
	var inputs []string
	for _, in := range s.inputs {
		word := fmt.Sprint(len(in.records) / s.layout.size)
		for _, more := range []string{in.kind, in.stdin} {
			if more != "" {
				word += "," + more
			}
		}
		inputs = append(inputs, word)
	}
	out := s.output.place
	if s.output.kind != "" {
		out += "," + s.output.kind
	}
	words := []string{s.verb, strings.Join(s.layout.flags, " "), s.layout.dtype, s.shape,
		"in=" + strings.Join(inputs, "+"), "out=" + out, strings.Join(
			s.flags,
			" ",
		), fmt.Sprintf("-T×%d", s.spills)}
	if s.signal != 0 {
		words = append(words, fmt.Sprintf("%v×%d", s.signal, len(s.moments)))
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return w == ""
	}), " ")
}
