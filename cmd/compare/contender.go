package main

import (
	"context"
	"slices"
	"strconv"
)

// A contender is one way to sort or copy the data of a workload.
type contender struct {
	name   string
	kind   kind
	memory int64 // memory limit passed to the program in bytes; 0: none
	form   form
	// It sorts the output file, which was copied from the input before the clock started.
	inPlace bool
	copies  bool // its output equals the input
	script  func(in, out string) script

	// second is another input in the same form, which the script names; nil if there is none.
	second *inputs
	// check checks the output; nil if it must consist of the records of the input.
	check func(ctx context.Context, output string) error
}

// A kind is the role of a contender.
type kind string

const (
	own       kind = "extsort"
	yardstick kind = "yardstick"
	peer      kind = "peer"
)

// The names of the yardsticks that results are divided by.
const (
	copyOnce  = "cp"
	copyTwice = "cp twice"
)

// yardsticks returns the contenders that measure the cost of reading and writing the data: once;
// once with the sync that extsort ends with, too; twice, which an out-of-core sort requires; and
// once through pipes.
func yardsticks() []contender {
	return []contender{copier(copyOnce, false), copier("cp, then sync", true),
		{name: copyTwice, kind: yardstick, copies: true, script: func(in, out string) script {
			return append(
				single("cp", in, "copy"), single("cp", "copy", out)...,
			)
		}},
		{name: "cat, pipes", kind: yardstick, copies: true, script: func(in, out string) script {
			return script{{commands: []command{{"cat", in}, {"cat"}}, output: out}}
		}},
	}
}

// copier returns a contender that copies once, with or without sync.
func copier(name string, sync bool) contender {
	return contender{
		name:   name,
		kind:   yardstick,
		copies: true,
		script: func(in, out string) script {
			s := single("cp", in, out)
			if sync {
				s = append(s, single("sync", out)...)
			}
			return s
		},
	}
}

// A route is the way that data takes to extsort and from it.
type route int

const (
	toFile       route = iota // extsort -o out in
	toStdout                  // extsort in > out
	throughPipes              // cat in | extsort | cat > out
)

// sorter returns a contender that runs a command line with a route.
func sorter(name string, way route, line command) contender {
	return contender{
		name: name,
		kind: own,
		script: func(in, out string) script {
			return way.script(line, in, out)
		},
	}
}

func (way route) script(line command, in, out string) script {
	switch way {
	case toStdout:
		return script{{
			commands: []command{append(slices.Clip(line), in)},
			output:   out,
		}}
	case throughPipes:
		return script{{
			commands: []command{{"cat", in}, line, {"cat"}},
			output:   out,
		}}
	}
	return script{{commands: []command{append(
		slices.Clip(line), "-o", out, in,
	)}}}
}

// ownContenders returns extsort with each memory limit, from file to file and through pipes.
func ownContenders(w workload, memories []int64, devices []string) []contender {
	var all []contender
	for _, memory := range memories {
		line := sortLine("extsort", w, memory, devices)
		files := sorter("extsort", toFile, line)
		pipes := sorter("extsort, pipes", throughPipes, line)
		files.memory, pipes.memory = memory, memory
		all = append(all, files, pipes)
	}
	return all
}

// sortLine returns the command line of a sort, without its files. devices contains flags.
func sortLine(
	tool string, w workload, memory int64, devices []string, more ...string,
) command {
	line := append(command{tool}, w.describe...)
	line = append(line, "-S", exactSize(memory), "-T", ".")
	return append(append(line, devices...), more...)
}

// exactSize formats a number of bytes for extsort and GNU sort.
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
