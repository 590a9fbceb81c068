package main

// modeFlags selects an operation other than sorting.
type modeFlags struct {
	check      string // "", diagnose-first or quiet
	checkQuiet bool
	join       bool
	merge      bool
	version    bool
}

func modeFlagsOfSort(g group, v *flagValues) {
	f := &v.mode
	g.add(oneOf(
		&f.check, "HOW", "diagnose-first", "quiet", "silent",
	), "check,c",
		"only check that FILE is sorted").NoOptDefVal = "diagnose-first"
	g.bool(
		&f.checkQuiet,
		"check-quiet,C",
		"like -c, but report only by the exit status",
	).
		hints("silent").implies("-c")
	g.bool(&f.join, "join",
		"read JSON reports of parts (with -c), check that the parts follow each other, and print the totals").
		needs("-c")
	g.bool(&f.merge, "merge,m", "merge FILEs that are already sorted")
	g.bool(&f.version, "version,V", "print the version")
}

func (f *modeFlags) isCheck() bool {
	return f.check != "" || f.checkQuiet
}
func (f *modeFlags) isQuiet() bool {
	return f.checkQuiet || f.check == "quiet" || f.check == "silent"
}
