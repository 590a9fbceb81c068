package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/merge/sets"
)

// joinFlags contains the flags that only a join has.
type joinFlags struct {
	how      string
	columns  []string
	fill     string
	hasFill  bool
	presence bool
}

// The values of --how that write only records of A. They are set operations.
const (
	semiJoin = "semi"
	antiJoin = "anti"
)

// joinTypes contains the other values of --how.
var joinTypes = map[string]sets.JoinType{
	"inner": sets.InnerJoin,
	"left":  sets.LeftJoin,
	"right": sets.RightJoin,
	"outer": sets.OuterJoin,
}

func joinTypeFlag(g group, v *flagValues) {
	v.sets.join.how = "inner"
	g.add(oneOf(&v.sets.join.how, "TYPE", "inner", "left", "right", "outer", semiJoin, antiJoin), "how",
		"inner: pairs of records with the same key; left, right or outer: also the records of A, B or both without a "+
			"partner; semi: the records of A with a partner; anti: those without").
		hints("join-type", "kind", "left", "inner", "outer")
}

func joinRowFlags(g group, v *flagValues) {
	g.add(listOf(&v.sets.join.columns, "NAMES", notEmpty), "columns",
		"the columns to write, separated by commas: a.NAME, b.NAME, a.OFFSET:TYPE, a or b; otherwise the record of A and "+
			"the bytes of B without the key").
		hints("select", "output-columns")
	g.add(parsed(&v.sets.join.fill, "VALUE", func(s string) (string, error) {
		v.sets.join.hasFill = true
		return s, nil
	}), "fill",
		"the value of the fields of a missing record; otherwise zero bytes").
		hints("empty", "default", "null")
	g.bool(&v.sets.join.presence, "presence",
		"append a byte to each row: 1 if only A has the key, 2 if only B, 3 if both")
}

func joinCommand(a *app) *cobra.Command {
	return setCommand(a, sets.Join, "join [flags] A B",
		"Pair the records of two sorted files that have the same key: each record of A\n"+
			"with all its partners in B. The output is sorted by key.",
		"  extsort join -R 16 -k 0:u64 -o pairs.bin orders.bin customers.bin\n"+
			"  extsort join --how left -R 8 -k 4:u32 --right '-t u32' -o out.bin a.bin b.bin")
}

// setJoin sets the options of a join.
func (s *setRun) setJoin(opt *session.SetOptions) error {
	join := &s.flags.join
	isRow := len(join.columns) > 0 || join.hasFill || join.presence
	switch {
	case join.how == semiJoin || join.how == antiJoin:
		if isRow {
			return fmt.Errorf("--how %s writes records of A: leave out --columns, --fill and --presence", join.how)
		}
		opt.Operation = sets.Intersect
		if join.how == antiJoin {
			opt.Operation = sets.Subtract
		}
		return nil
	case join.how == "inner" && join.hasFill:
		return fmt.Errorf("--fill is for records without a partner, but --how inner writes none: use left, right or outer")
	}

	rows := sets.RowOptions{Columns: join.columns, Presence: join.presence}
	if join.hasFill {
		rows.Fill = func(c format.Column) ([]byte, error) { return parseFill(c, join.fill) }
	}
	opt.JoinType = joinTypes[join.how]
	opt.Rows = rows
	return nil
}

// parseFill converts the value of --fill to a value of a column.
func parseFill(c format.Column, text string) ([]byte, error) {
	value, err := textform.ParseValue(c, text)
	if err != nil {
		return nil, fmt.Errorf("--fill: %w", err)
	}
	return value, nil
}
