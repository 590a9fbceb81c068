package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The names of the yardsticks of set operations.
const (
	copyBoth  = "cat A B"
	mergeBoth = "extsort -m"
)

// setWorkload describes the inputs of set operations.
var setWorkload = workload{"sets", "sorted 64-bit keys", []string{"-t", "u64"}, 8, 8, "uniform"}

// commonDivisor says which part of the records of an input the other input has, too: a quarter.
const commonDivisor = 4

// The parts of the data: the records that only one input has, and those that both have.
const (
	onlyA = iota
	onlyB
	inBoth
	dataParts
)

// A setOperation is an operation on two sorted files in the languages of the contenders.
type setOperation struct {
	name  string
	gnu   command // the program, before two files of text
	numPy string  // an expression of the arrays a and b
	sql   string  // a query of the tables a.t and b.t, which have the column k
	parts []int   // the parts of the data that the result consists of; nil if it consists of counts
}

var setOperations = []setOperation{
	{
		"union", command{"sort", "-m", "-u"}, "np.union1d(a, b)",
		"SELECT k FROM a.t UNION SELECT k FROM b.t", []int{onlyA, onlyB, inBoth},
	},
	{
		"intersect", command{"comm", "-12"}, "np.intersect1d(a, b, assume_unique=True)",
		"SELECT k FROM a.t INTERSECT SELECT k FROM b.t", []int{inBoth},
	},
	{
		"subtract", command{"comm", "-23"}, "np.setdiff1d(a, b, assume_unique=True)",
		"SELECT k FROM a.t EXCEPT SELECT k FROM b.t", []int{onlyA},
	},
	{
		"compare", command{"comm", "--total", "-123"},
		"(lambda n: np.array([len(a) - n, len(b) - n, n]))(len(np.intersect1d(a, b, assume_unique=True)))",
		"SELECT count(*) FILTER (y.k IS NULL), count(*) FILTER (x.k IS NULL), count(*) FILTER (x.k = y.k) " +
			"FROM a.t AS x FULL JOIN b.t AS y ON x.k = y.k", nil,
	},
	{
		"join", command{"join"}, "np.intersect1d(a, b, assume_unique=True)",
		"SELECT x.k FROM a.t AS x JOIN b.t AS y ON x.k = y.k", []int{inBoth},
	},
}

// setPeers are the peers of set operations.
var setPeers = map[string]func(p *setPair, o setOperation) contender{
	"sort":   gnuContender,
	"numpy":  numPySetContender,
	"duckdb": duckDBSetContender,
}

// raceSets races the contenders of each set operation.
func raceSets(ctx context.Context, shop *workshop, peers []peerProgram) ([]section, error) {
	pair, err := newSetPair(ctx, shop)
	if err != nil {
		return nil, err
	}
	var all []section
	for _, o := range setOperations {
		s := section{
			Name:       o.name,
			Title:      o.name + " of " + setWorkload.Title,
			Size:       "2 × " + setWorkload.describeSize(shop.bytes),
			Bytes:      2 * setWorkload.bytes(shop.bytes),
			Yardsticks: [2]string{copyBoth, mergeBoth},
		}
		contenders := pair.ownContenders(o)
		for _, p := range peers {
			if make := setPeers[p.name]; make != nil {
				contenders = append(contenders, make(pair, o))
			}
		}
		if err := raceLanes(ctx, pair.a, &s, contenders); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// A setPair contains the two inputs of set operations.
type setPair struct {
	shop  *workshop
	a, b  *inputs
	parts [dataParts]contents
}

// newSetPair makes the two inputs.
func newSetPair(ctx context.Context, shop *workshop) (*setPair, error) {
	pair := &setPair{shop: shop}
	records := setWorkload.records(shop.bytes)
	common := records / commonDivisor
	for part, n := range [dataParts]int64{records - common, records - common, common} {
		gen := append(append(command{"extsort", "gen"}, setWorkload.describe...),
			"-n", strconv.FormatInt(n, 10), "--seed", strconv.Itoa(part+1), "-o", partName(part))
		if err := shop.runUntimed(ctx, gen, nil, nil); err != nil {
			return nil, err
		}
		var err error
		if pair.parts[part], err = shop.inspect(ctx, setWorkload, partName(part), nil); err != nil {
			return nil, err
		}
	}
	var failed error
	input := func(name string, part int) *inputs {
		w := setWorkload
		w.Name = name
		in := &inputs{shop: shop, w: w, formErrors: map[string]error{"": nil}}
		sort := append(append(command{"extsort"}, w.describe...), "-o", in.rawName(), partName(part), partName(inBoth))
		failed = errors.Join(failed, shop.runUntimed(ctx, sort, nil, nil))
		return in
	}
	pair.a = input("a", onlyA)
	pair.b = input("b", onlyB)
	for part := range dataParts {
		failed = errors.Join(failed, os.Remove(shop.path(partName(part))))
	}
	return pair, failed
}

func partName(part int) string { return "part" + strconv.Itoa(part) }

// ownContenders returns the yardsticks and extsort.
func (p *setPair) ownContenders(o setOperation) []contender {
	a, b := p.a.rawName(), p.b.rawName()
	extsort := func(verb string) command {
		return append(append(command{"extsort", verb}, setWorkload.describe...), a, b)
	}
	everything := []int{onlyA, inBoth, onlyB, inBoth}
	return []contender{
		{
			name: copyBoth, kind: yardstick, script: writesTo(command{"cat", a, b}, ""),
			check: p.checkRecords(everything, form{}, false),
		},
		{
			name: mergeBoth, kind: own, script: writesTo(extsort("-m"), "-o"),
			check: p.checkRecords(everything, form{}, true),
		},
		p.complete(contender{
			name: "extsort " + o.name, kind: own, script: writesTo(extsort(o.name), o.outputFlag()),
		}, o, form{}),
	}
}

// outputFlag returns the flag of extsort for an output of records. Counts go to standard output.
func (o setOperation) outputFlag() string {
	if o.parts == nil {
		return ""
	}
	return "-o"
}

// writesTo returns the script of a command that writes to an output: with a flag, or, if it has none,
// to standard output.
func writesTo(c command, flag string) func(in, out string) script {
	return func(_, out string) script {
		if flag == "" {
			return script{{commands: []command{c}, output: out}}
		}
		return script{{commands: []command{append(slices.Clone(c), flag, out)}}}
	}
}

// complete completes a contender, whose output has the given form.
func (p *setPair) complete(c contender, o setOperation, out form) contender {
	c.second = p.b
	c.check = p.checkCounts
	if o.parts != nil {
		c.check = p.checkRecords(o.parts, out, c.kind != peer)
	}
	return c
}

// checkRecords returns a check of an output that consists of some parts of the data.
func (p *setPair) checkRecords(parts []int, f form, sorted bool) func(context.Context, string) error {
	return func(ctx context.Context, output string) error {
		found, err := p.shop.inspectForm(ctx, setWorkload, f, output)
		if err != nil {
			return fmt.Errorf("output: %w", err)
		}
		want, err := p.together(parts)
		if err != nil {
			return err
		}
		return compareContents(found, want, sorted)
	}
}

// together returns the contents of several parts of the data. Checksums add up.
func (p *setPair) together(parts []int) (all contents, err error) {
	sum := new(big.Int)
	for _, part := range parts {
		checksum, ok := new(big.Int).SetString(p.parts[part].Checksum, 16)
		if !ok {
			return all, fmt.Errorf("%q is not a checksum", p.parts[part].Checksum)
		}
		sum.Add(sum, checksum)
		all.Records += p.parts[part].Records
	}
	all.Checksum = sum.Text(16)
	return all, nil
}

// counts are the first numbers of lines, and all numbers of one line.
var counts = regexp.MustCompile(`[0-9][0-9,]*`)

// checkCounts checks an output that consists of three counts. extsort prints each in a line, with
// commas, and other programs print all in one line.
func (p *setPair) checkCounts(_ context.Context, output string) error {
	text, err := os.ReadFile(p.shop.path(output))
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	found := strings.FieldsFunc(lines[0], func(r rune) bool { return r < '0' || r > '9' })
	if len(lines) == dataParts {
		found = nil
		for _, line := range lines {
			found = append(found, strings.ReplaceAll(counts.FindString(line), ",", ""))
		}
	}
	var want []string
	for _, part := range p.parts {
		want = append(want, strconv.FormatInt(part.Records, 10))
	}
	if len(found) < dataParts || !slices.Equal(found[:dataParts], want) {
		return fmt.Errorf("the counts are %q instead of %q", found, want)
	}
	return nil
}

func gnuContender(p *setPair, o setOperation) contender {
	line := append(command{"env", "LC_ALL=C"}, o.gnu...)
	line = append(line, p.a.name(hexText), p.b.name(hexText))
	c := contender{name: "GNU " + o.gnu[0] + ", hex text", kind: peer, form: hexText, script: writesTo(line, "")}
	return p.complete(c, o, hexText)
}

func numPySetContender(p *setPair, o setOperation) contender {
	result := ".tofile(%[3]q)"
	if o.parts == nil {
		result = ".tofile(%[3]q, sep=' ')"
	}
	program := "import numpy as np; a, b = (np.fromfile(f, '<u8') for f in (%[1]q, %[2]q)); (" + o.numPy + ")" + result
	c := contender{name: "NumPy", kind: peer, script: func(_, out string) script {
		return single(p.shop.tools["numpy"], "-c", fmt.Sprintf(program, p.a.rawName(), p.b.rawName(), out))
	}}
	return p.complete(c, o, form{})
}

// duckDBSetContender makes DuckDB query tables that it has already loaded.
func duckDBSetContender(p *setPair, o setOperation) contender {
	format := "parquet"
	if o.parts == nil {
		format = "csv, HEADER false"
	}
	query := "ATTACH '%s' AS a (READ_ONLY); ATTACH '%s' AS b (READ_ONLY); COPY (%s) TO '%s' (FORMAT %s)"
	c := contender{name: "DuckDB, tables", kind: peer, form: duckDBTable, script: func(_, out string) script {
		sql := fmt.Sprintf(query, p.a.name(duckDBTable), p.b.name(duckDBTable), o.sql, out, format)
		return script{{commands: []command{duckDB(sql)}}}
	}}
	return p.complete(c, o, parquet(setWorkload))
}

// duckDBTable is the form of a database with the table t, whose column k contains the keys.
var duckDBTable = form{
	name:   "duckdb",
	encode: hexText.encode,
	pack: func(file string) command {
		return duckDB(fmt.Sprintf("ATTACH '%s' AS d; CREATE TABLE d.t AS SELECT ('0x' || line)::UBIGINT AS k FROM "+
			"read_csv('/dev/stdin', header=false, auto_detect=false, columns={'line': 'VARCHAR'})", file))
	},
}
