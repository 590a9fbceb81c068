package main

import (
	"fmt"
	"reflect"

	"github.com/extsort/extsort/format"
)

// recordFlags say what a record is: the four flags of format.Spec, as they were given.
type recordFlags struct {
	spec format.Spec
}

func (f *recordFlags) group() group {
	g := newGroup("What a record is: one of -t, -R, -f")
	g.add(single(&f.spec.Type, "TYPE"), "type,t", "bare keys: one record is one TYPE (see below)")
	g.add(number(&f.spec.RecordSize, "BYTES", 1), "record-size,R",
		"records of so many bytes; with no -k they are compared whole, as bytes")
	g.add(many(&f.spec.Keys, "FIELD"), "key,k",
		"FIELD to sort by, OFFSET:TYPE[:desc] or, for npy, NAME[:desc]; repeatable")
	g.add(single(&f.spec.Format, "FORMAT"), "format,f",
		"gensort: 100-byte records; npy: NumPy array; sosd, with -t: count and keys")
	return g
}

// validate reports what is wrong with the description. Somebody who gave none may never have seen the help.
func (f *recordFlags) validate() error {
	err := f.spec.Validate()
	if reflect.ValueOf(f.spec).IsZero() {
		return fmt.Errorf("%w (extsort --help tells more, extsort demo shows)", err)
	}
	return err
}
