package main

import (
	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/internal/lookup"
)

// findFlags contains the flags that only find has.
type findFlags struct {
	keys   string // name of a file
	keysAs string
	from   string
	to     string
	prefix string

	missing  bool
	count    bool
	position bool

	index string

	fewReads bool // only a few keys are looked up
}

// The forms of the keys in a file, in addition to lines.
const (
	keysBinary  = "binary"
	keysRecords = "records"
)

// noIndex is the value of --index that disables indexes.
const noIndex = "none"

func findKeyFlags(g group, v *flagValues) {
	f := &v.text.find
	f.keysAs = string(textform.CSV)
	forms := []string{}
	for _, form := range textform.Forms {
		forms = append(forms, string(form))
	}
	g.add(text(&f.keys, "FILE"), "keys",
		"find all keys in FILE (- is standard input), in any order and any number; the records are written in the order of "+
			"the sorted file; otherwise KEY").
		hints("file", "patterns", "keys-from").notWith("--from", "--to", "--prefix")
	g.add(oneOf(&f.keysAs, "FORM", append(forms, keysBinary, keysRecords)...), "keys-as",
		"form of the keys: lines with the values of the key fields; binary for the bytes of the key fields; or records "+
			"like those of the sorted file").
		needs("--keys")
	g.add(text(&f.from, "KEY"), "from",
		"find all records from KEY on, in the order of the file; otherwise from the first one").
		hints("start", "begin", "min", "since").notWith("--prefix")
	g.add(text(&f.to, "KEY"), "to",
		"find all records before KEY, without KEY itself; otherwise up to the last one").
		hints("end", "stop", "max", "until", "before").notWith("--prefix")
	g.add(text(&f.prefix, "TEXT"), "prefix",
		"find all records whose first key field begins with TEXT, or with bytes in hexadecimal, such as 0x1f8b; "+
			"only for bytes and characters; "+
			"otherwise KEY").
		hints("starts-with", "beginning")
}

func findResultFlags(g group, v *flagValues) {
	f := &v.text.find
	g.add(
		oneOf(&v.text.form, "FORM", append([]string{keysRecords}, textForms()...)...), "as",
		"form of the result; otherwise the records themselves, in the format of FILE",
	).
		hints("csv", "json", "output-format")
	g.bool(&f.missing, "missing", "write the keys that FILE does not contain, as lines of CSV, instead of records").
		hints("invert-match", "not-found").notWith("--from", "--to", "--prefix", "--as", "--columns", "--header")
	g.bool(&f.count, "count", "write only the number of records found, or of missing keys").
		notWith("--as", "--columns", "--header")
	g.bool(&f.position, "position",
		"write only the positions of the records: A:B for the records A to B-1, counted from 0, as in print --range; "+
			"with several keys, each line also contains a tab and the key").
		hints("line-number", "byte-offset", "offset").notWith("--missing", "--count", "--as", "--columns", "--header")
}

func findIndexFlag(g group, v *flagValues) {
	g.add(text(&v.text.find.index, "INDEX"), "index",
		"the index that extsort index made, or none; otherwise FILE"+lookup.IndexSuffix+" if it exists").
		offers(noIndex)
}
