package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// otherVerbs maps verbs of other tools to equivalent commands.
var otherVerbs = map[string]string{
	"sort": "extsort FILE", "check": "extsort -c", "verify": "extsort -c", "merge": "extsort -m",
	"uniq": "extsort -u",
	"dump": "extsort print", "export": "extsort print", "show": "extsort print", "view": "extsort print",
	"grep": "extsort find", "search": "extsort find", "lookup": "extsort find",
	"tail": "extsort print --tail N", "import": "extsort parse", "convert": "extsort parse",
	"head": "extsort --limit N", "top": "extsort --limit N", "shuf": "extsort shuffle", "stat": "extsort info",
	"text": "extsort --stats=text", "json": "extsort --stats=json", "quiet": "extsort -c=quiet",
}

// missingVerbs maps verbs that extsort lacks to alternatives.
var missingVerbs = map[string]string{
	"cat": "extsort has no cat: extsort -m merges sorted files, and cat appends plain records",
}

// mistakenVerb returns an error if the first operand is not a file but looks like a verb. It
// recognizes verbs of other tools and, if no flag describes a record, misspelled verbs of extsort.
func (f *sortFlags) mistakenVerb(files []string) error {
	if len(files) == 0 {
		return nil
	}
	missing := func(name string) bool {
		_, err := os.Stat(name)
		return errors.Is(err, os.ErrNotExist)
	}
	first, last, r := files[0], files[len(files)-1], f.opt.Record
	writes := f.opt.Output == "" && !f.mode.isCheck() && last != "-" &&
		!strings.Contains(last, "://")
	switch other := otherVerbs[first]; {
	case missing(first) && missingVerbs[first] != "":
		return errors.New(missingVerbs[first])
	case len(files) == 2 && writes && !missing(first) && missing(last):
		return fmt.Errorf(
			"%s: no such file to read (to write it: -o %s)", last, last,
		)
	case missing(first) && other != "":
		return fmt.Errorf("%s: no such file or command: use %s", first, other)
	case missing(first) && r.Type+r.Format+r.Fields == "" &&
		r.RecordSize == 0 &&
		len(r.Keys) == 0:
		if near := nearestWord(first, namesOfVerbs()); near != "" {
			return fmt.Errorf(
				"%s: no such file or command: did you mean extsort %s?",
				first,
				near,
			)
		}
	}
	return nil
}
