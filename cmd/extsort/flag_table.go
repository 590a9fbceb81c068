package main

import (
	"slices"
	"strings"
)

// flagValues contains the values of all flags of a command line. Each verb reads only the values of
// its own flags in flagTable.
type flagValues struct {
	sortFlags // other verbs share some of them
	gen       genFlags
	info      infoFlags
	devices   devicesFlags
	bench     benchFlags
	tune      tuneFlags
	demo      demoFlags
	dist      distFlags
	text      textFlags
	top       int64 // number of keys
	sets      setFlags
}

// A flagGroup is a row of flagTable: flags below one heading of the help.
type flagGroup struct {
	title string
	verbs string // names of the verbs that have the flags, separated by commas
	flags []defineFlag
}

// defineFlag adds one flag, or a few that belong together, to a group.
type defineFlag func(g group, v *flagValues)

// flagTable lists the flags of all verbs. The groups of each verb are in the order of its help.
var flagTable = []flagGroup{
	{"Without FILE", "plan", []defineFlag{planInputFlags}},
	{"Which tasks", "dist run, dist cut, dist merge", []defineFlag{distTaskFlags}},
	{"Which tasks", "dist verify", []defineFlag{distVerifyFlags}},
	{"What to measure", "bench", []defineFlag{benchCaseFlags}},
	{"What to measure", "tune", []defineFlag{tuneTrialFlags}},
	{"Stored measurements", "tune", []defineFlag{tuneStoreFlags}},

	{"Record layout: one of -t, -R, -f", "sort, plan, top, union, intersect, subtract, compare, join", []defineFlag{
		typeFlag, recordSizeFlag, fieldsFlag, keyFlag, recognizedFormatFlag, memberFlag,
	}},
	{"Record layout: one of -t, -R, -f", "find, index", []defineFlag{
		typeFlag, recordSizeFlag, fieldsFlag, keyFlag, recognizedFormatFlag,
	}},
	{"Record layout: one of -t, -R, -f", "shuffle", []defineFlag{
		typeFlag, recordSizeFlag, fieldsFlag, recognizedFormatFlag, memberFlag,
	}},
	{"Record layout: one of -t, -R, -f", "print", []defineFlag{
		typeFlag, recordSizeFlag, fieldsFlag, keyFlag, recognizedFormatFlag, memberFlag,
	}},
	{"Record layout: one of -t, -R, -f", "gen, parse, dist plan", []defineFlag{
		typeFlag, recordSizeFlag, fieldsFlag, keyFlag, formatFlag,
	}},
	{"Record layout: one of -t, -R, -f", "info", []defineFlag{
		typeFlag, recordSizeFlag, fieldsFlag, keyFlag, formatFlag, memberFlag,
	}},

	{"Inputs", "sort, shuffle", []defineFlag{
		files0Flag, filesFlag, partFlag, skipBytesFlag, recordsFlag, skipTailFlag, keepHeaderFlag, decompressFlag, rawFlag,
	}},
	{"Inputs", "union", []defineFlag{
		setFlagsOfAll, files0Flag, filesFlag, setPartFlag, skipBytesFlag, recordsFlag, skipTailFlag, decompressFlag, rawFlag,
	}},
	{"Inputs", "intersect, subtract, compare, join", []defineFlag{
		setFlagsOfAll, setRightFlag, files0Flag, filesFlag, setPartFlag, skipBytesFlag, recordsFlag, skipTailFlag,
		decompressFlag, rawFlag,
	}},
	{"Inputs", "plan", []defineFlag{
		files0Flag, filesFlag, partFlag, skipBytesFlag, skipTailFlag, keepHeaderFlag, decompressFlag, rawFlag,
	}},
	{"Inputs", "top", []defineFlag{
		files0Flag, filesFlag, skipBytesFlag, recordsFlag, skipTailFlag, decompressFlag, rawFlag,
	}},
	{"What to print", "print", []defineFlag{selectionFlags, columnsFlag}},
	{"Inputs", "print", []defineFlag{skipBytesFlag, recordsFlag, skipTailFlag, decompressFlag, rawFlag}},
	{"What to find, instead of KEY", "find", []defineFlag{findKeyFlags}},
	{"What to write", "find", []defineFlag{findResultFlags, columnsFlag, headerFlag}},
	{"Inputs", "find", []defineFlag{findIndexFlag, skipBytesFlag, recordsFlag, skipTailFlag, rawFlag}},
	{"Inputs", "index", []defineFlag{skipBytesFlag, recordsFlag, skipTailFlag, rawFlag}},
	{"Lines", "print", []defineFlag{printFormFlag, headerFlag}},
	{"What to print", "top", []defineFlag{topFlags, headerFlag}},
	{"Lines", "parse", []defineFlag{parseFormFlag, headerFlag, decompressFlag}},
	{"Inputs", "info", []defineFlag{skipBytesFlag, recordsFlag, skipTailFlag, decompressFlag, rawFlag}},
	{"Inputs", "dist plan", []defineFlag{files0Flag, filesFlag, skipBytesFlag, recordsFlag, skipTailFlag}},

	{"Order", "sort, plan", []defineFlag{
		reverseFlag, nanFlag, floatFlag, nullsFlag, uniqueFlag, keepFlag, countFlag, aggregateFlags, keepKeyFlag,
		argsortFlag,
		duplicatesFlag, limitFlag, stableFlag,
	}},
	{"Order", "top, compare", []defineFlag{reverseFlag, nanFlag, floatFlag}},
	{"Order", "union, intersect, subtract, join", []defineFlag{reverseFlag, nanFlag, floatFlag, nullsFlag}},
	{"Order", "find, index", []defineFlag{reverseFlag, nanFlag, floatFlag}},
	{"Order", "shuffle", []defineFlag{shuffleOrderFlags}},
	{"Order", "dist plan", []defineFlag{reverseFlag, nanFlag, floatFlag}},

	{"What to write", "gen", []defineFlag{genDataFlags}},
	{"Output", "sort, plan", []defineFlag{outputFlag, sortCompressFlag, splitFlag}},
	{"Output", "shuffle", []defineFlag{outputFlag, compressFlag, splitFlag}},
	{"Output", "union, intersect, subtract", []defineFlag{setAllFlag, outputFlag, sortCompressFlag}},
	{"Output", "compare", []defineFlag{compareOutputFlags}},
	{"Output", "join", []defineFlag{joinTypeFlag, joinRowFlags, outputFlag, sortCompressFlag}},
	{"Output", "top", []defineFlag{otherOutputFlag, compressFlag}},
	{"Output", "gen", []defineFlag{newOutputFlag, compressFlag}},
	{"Output", "print, parse", []defineFlag{otherOutputFlag, compressFlag, parallelFlag}},
	{"Output", "find", []defineFlag{otherOutputFlag, compressFlag}},
	{"Output", "index", []defineFlag{indexOutputFlag}},
	{"Output", "dist cat", []defineFlag{distCatFlags}},
	{"Output: one of -o, --into", "dist plan", []defineFlag{distOutputFlags}},
	{"Tasks", "dist plan", []defineFlag{distPlanFlags}},
	{"Simulation, with --simulate", "dist plan", []defineFlag{simulationFlags}},
	{"Tasks", "dist script", []defineFlag{distScriptFlags, distScriptParallelFlag, deviceFlag}},

	{"Instead of sorting", "sort", []defineFlag{modeFlagsOfSort}},
	{"Resources", "sort, plan, shuffle, dist run", []defineFlag{
		memoryFlag, tempDirFlag, checkpointFlag, parallelFlag, deviceFlag, deviceMemoryFlag, strategyFlag, algorithmFlag,
		digitBitsFlag, spillCompressFlag, batchSizeFlag,
	}},
	{"Resources", "dist merge", []defineFlag{memoryFlag, tempDirFlag, parallelFlag, spillCompressFlag, batchSizeFlag}},
	{"Resources", "find, top, union, intersect, subtract, compare, join", []defineFlag{
		memoryFlag, tempDirFlag, parallelFlag,
	}},
	{"Resources", "dist cut", []defineFlag{memoryFlag}},
	{"Resources", "info, print", []defineFlag{readMemoryFlag}},
	{"Resources", "parse", []defineFlag{textMemoryFlag}},
	{"Threads and progress", "gen", []defineFlag{parallelFlag, progressFlag}},
	{"Flags", "demo", []defineFlag{demoSizeFlags, deviceFlag, parallelFlag, progressFlag}},

	{
		"Reports, all on standard error",
		"sort",
		[]defineFlag{progressFlag, quietFlag, statsFlag, explainFlag, verifyFlag},
	},
	{"Reports, all on standard error", "shuffle", []defineFlag{progressFlag, quietFlag, statsFlag, explainFlag}},
	{"Reports, all on standard error", "top, union, intersect, subtract, compare, join", []defineFlag{
		progressFlag, quietFlag, statsFlag,
	}},
	{"Reports, all on standard error", "find", []defineFlag{quietFlag, statsFlag}},
	{"Reports", "plan", []defineFlag{progressFlag, quietFlag, statsFlag, planExplainFlag, verifyFlag}},
	{"Scan and report", "info", []defineFlag{infoLookFlags}},
	{"Output format", "bench", []defineFlag{benchShowFlags}},
	{"Output format", "devices", []defineFlag{devicesShowFlags}},
	{"Output format", "dist status", []defineFlag{distStatusFlags}},
}

// groups defines the flags of a verb, or of the sort for "sort". The flags set v.
func (v *flagValues) groups(verb string) []group {
	var all []group
	for _, row := range flagTable {
		if !slices.Contains(strings.Split(row.verbs, ", "), verb) {
			continue
		}
		g := newGroup(row.title)
		for _, define := range row.flags {
			define(g, v)
		}
		all = append(all, g)
	}
	return all
}

// verbsWith returns the verbs that have a flag, given by its long name or its letter.
func verbsWith(name string) []string {
	var found []string
	for _, row := range flagTable {
		g := newGroup(row.title)
		for _, define := range row.flags {
			define(g, &flagValues{})
		}
		isThere := len(name) == 1 && g.flags.ShorthandLookup(name) != nil || g.flags.Lookup(name) != nil
		for _, verb := range strings.Split(row.verbs, ", ") {
			if isThere && !slices.Contains(found, verb) {
				found = append(found, verb)
			}
		}
	}
	return found
}
