package main

import (
	"slices"
	"strconv"
)

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
	return []contender{copier(copyOnce, false), copier("cp, then sync", true),
		{name: copyTwice, kind: yardstick, copies: true, script: func(in, out string) script {
			return append(single("cp", in, "copy"), single("cp", "copy", out)...)
		}},
	}
}

// copier copies once, and waits for the disk or not.
func copier(name string, sync bool) contender {
	return contender{name: name, kind: yardstick, copies: true, script: func(in, out string) script {
		s := single("cp", in, out)
		if sync {
			s = append(s, single("sync", out)...)
		}
		return s
	}}
}

// route is how data comes to extsort and from it.
type route int

const (
	toFile       route = iota // extsort -o out in
	toStdout                  // extsort in > out
	throughPipes              // cat in | extsort | cat > out
)

// sorter is a contender that runs a line by a route.
func sorter(name string, way route, line command) contender {
	return contender{name: name, kind: own, script: func(in, out string) script { return way.script(line, in, out) }}
}

func (way route) script(line command, in, out string) script {
	switch way {
	case toStdout:
		return script{{commands: []command{append(slices.Clip(line), in)}, output: out}}
	case throughPipes:
		return script{{commands: []command{{"cat", in}, line, {"cat"}}, output: out}}
	}
	return script{{commands: []command{append(slices.Clip(line), "-o", out, in)}}}
}

// ownContenders are extsort with each memory limit, from file to file and through pipes.
func ownContenders(w workload, memories []int64, devices []string) []contender {
	var all []contender
	for _, memory := range memories {
		line := sortLine("extsort", w, memory, devices)
		files, pipes := sorter("extsort", toFile, line), sorter("extsort, pipes", throughPipes, line)
		files.memory, pipes.memory = memory, memory
		all = append(all, files, pipes)
	}
	return all
}

// sortLine is the command of a tool that sorts, but for its files. The devices are flags.
func sortLine(tool string, w workload, memory int64, devices []string, more ...string) command {
	line := append(command{tool}, w.describe...)
	line = append(line, "-S", exactSize(memory), "-T", ".")
	return append(append(line, devices...), more...)
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
