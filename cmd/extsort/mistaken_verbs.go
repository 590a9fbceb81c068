package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/extsort/extsort/format"
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
	if first := files[0]; isMissing(first) {
		return missingOperand(first, &f.opt.Record)
	}
	last := files[len(files)-1]
	if len(files) == 2 && f.mayBeOutput(last) && isMissing(last) {
		return fmt.Errorf("%s: no such file to read (to write it: -o %s)", last, last)
	}
	return nil
}

func isMissing(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, os.ErrNotExist)
}

// mayBeOutput reports whether the last operand may be meant as the output, as in "sort in out".
func (f *sortFlags) mayBeOutput(last string) bool {
	isLocal := last != "-" && !strings.Contains(last, "://")
	return isLocal && f.opt.Output == "" && !f.mode.isCheck()
}

// missingOperand returns the error for an operand that is not a file, if it looks like a verb. r is the description of
// the records.
func missingOperand(name string, r *format.Spec) error {
	if why := missingVerbs[name]; why != "" {
		return errors.New(why)
	}
	if command := otherVerbs[name]; command != "" {
		return fmt.Errorf("%s: no such file or command: use %s", name, command)
	}
	if describesRecord(r) {
		return nil
	}
	near := nearestWord(name, namesOfVerbs())
	if near == "" {
		return nil
	}
	return fmt.Errorf("%s: no such file or command: did you mean extsort %s?", name, near)
}

// describesRecord reports whether anything describes the records.
func describesRecord(r *format.Spec) bool {
	return r.Type+r.Format+r.Fields != "" || r.RecordSize != 0 || len(r.Keys) > 0
}
