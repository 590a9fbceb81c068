package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// findDuckDB looks for DuckDB's command.
func findDuckDB(ctx context.Context, shop *workshop) (string, error) {
	if version, err := shop.firstLine(ctx, "duckdb", "--version"); err == nil {
		return "DuckDB " + version, nil
	}
	return "", errors.New("no duckdb command is installed")
}

// duckDBContenders makes DuckDB sort a Parquet file into another one, because it cannot read bare
// numbers.
func duckDBContenders(shop *workshop, w workload) ([]contender, error) {
	var all []contender
	for _, memory := range shop.memories {
		all = append(
			all,
			contender{name: "DuckDB, Parquet", kind: peer, memory: memory, form: parquet(w),
				script: func(in, out string) script {
					return script{{commands: []command{duckDB(fmt.Sprintf(
						"SET memory_limit='%dKiB'; SET threads=%d; SET temp_directory='duckdb.tmp'; "+
							"COPY (SELECT * FROM read_parquet('%s') ORDER BY k) TO '%s' (FORMAT parquet)",
						memory>>10, runtime.NumCPU(), in, out))}}}
				}},
		)
	}
	return all, nil
}

func duckDB(sql string) command { return command{"duckdb", "-c", sql} }

// parquet is the form of a Parquet file with the key in column k and, for records, the rest in
// column v. DuckDB converts it from and to hexadecimal text.
func parquet(w workload) form {
	f := hexText
	f.name = "parquet"
	columns := "('0x' || line)::UBIGINT AS k"
	back := fmt.Sprintf("lower(printf('%%0%dx', k))", 2*w.recordSize)
	if !w.isNumber() {
		columns = fmt.Sprintf(
			"unhex(line[:%d]) AS k, unhex(line[%d:]) AS v",
			2*w.keySize,
			2*w.keySize+1,
		)
		back = "lower(hex(k) || hex(v))"
	}
	if w.recordSize == 4 {
		columns = "('0x' || line)::UINTEGER AS k"
	}
	f.pack = func(file string) command {
		return duckDB(
			fmt.Sprintf("COPY (SELECT %s FROM read_csv('/dev/stdin', header=false, auto_detect=false, "+
				"columns={'line': 'VARCHAR'})) TO '%s' (FORMAT parquet)", columns, file),
		)
	}
	f.unpack = func(file string) command {
		return duckDB(
			fmt.Sprintf("COPY (SELECT %s FROM read_parquet('%s')) TO '/dev/stdout' (FORMAT csv, HEADER false)",
				back, file),
		)
	}
	return f
}
