package main

import "strconv"

// contender is one way to sort, or to copy, the data of a workload.
type contender struct {
	name    string
	kind    kind
	memory  int64 // the limit it is told, in bytes; 0: it takes none
	form    form
	inPlace bool // it sorts the file that holds its output, a copy of the input made before the clock starts
	copies  bool // the output is the input, not sorted
	script  func(in, out string) script
}

// kind is the part that a contender plays.
type kind string

const (
	own       kind = "extsort"
	yardstick kind = "yardstick"
	peer      kind = "peer"
)

// The names of the yardsticks that others are set in relation to.
const (
	copyOnce  = "cp"
	copyTwice = "cp twice"
)

// yardsticks are what reading and writing the data costs: once; once with the wait for the disk that extsort ends
// with, too; and twice, which is what sorting out of core needs.
func yardsticks() []contender {
	once := func(in, out string) script { return single("cp", in, out) }
	return []contender{
		{name: copyOnce, kind: yardstick, copies: true, script: once},
		{name: "cp, then sync", kind: yardstick, copies: true, script: func(in, out string) script {
			return append(once(in, out), single("sync", out)...)
		}},
		{name: copyTwice, kind: yardstick, copies: true, script: func(in, out string) script {
			return append(once(in, "copy"), once("copy", out)...)
		}},
	}
}

// ownContenders are extsort with each memory limit, from file to file and through pipes.
func ownContenders(w workload, memories []int64, devices []string) []contender {
	var all []contender
	for _, memory := range memories {
		sort := append(command{"extsort"}, w.describe...)
		sort = append(sort, "-S", exactSize(memory), "-T", ".")
		for _, d := range devices {
			sort = append(sort, "-d", d)
		}
		all = append(all,
			contender{name: "extsort", kind: own, memory: memory, script: func(in, out string) script {
				return single(sort[0], append(sort[1:len(sort):len(sort)], "-o", out, in)...)
			}},
			contender{name: "extsort, pipes", kind: own, memory: memory, script: func(in, out string) script {
				return script{{commands: []command{{"cat", in}, sort, {"cat"}}, output: out}}
			}})
	}
	return all
}

// exactSize is a number of bytes as extsort and GNU sort read it.
func exactSize(bytes int64) string {
	for _, unit := range []struct {
		shift  int
		letter string
	}{{30, "G"}, {20, "M"}, {10, "K"}} {
		if bytes>>unit.shift<<unit.shift == bytes {
			return strconv.FormatInt(bytes>>unit.shift, 10) + unit.letter
		}
	}
	return strconv.FormatInt(bytes, 10) + "b"
}
