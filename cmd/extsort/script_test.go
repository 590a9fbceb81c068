package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/extsort/extsort/format"
)

// The scripts in testdata/script run the real command, partly in separate processes
// (script_shared_test.go). In addition to the
// commands of testscript, they can use
//
//	mk FILE TYPE VALUE ...     write values, or with TYPE hex bytes
//	is FILE TYPE VALUE ...     FILE (or stdout) holds exactly these values
//	size FILE BYTES            FILE has this size
//	empty FOLDER               FOLDER is empty
//	complains PATTERN          standard error is the one line "extsort: PATTERN" and nothing else
//	exec status CODE PROG ...  PROG exits with CODE, or is killed by the signal CODE (INT, TERM, HUP, PIPE, QUIT)
//	exec feed SIGNAL BYTES PROG ...   PROG reads BYTES random bytes, is sent SIGNAL while it waits for
//	                                  more, and dies of it
//
// Plans depend on the number of processors and on the measurements of the machine. So the commands
// that tests start have two processors on every machine, and no measurements are used.
func TestMain(m *testing.M) {
	isTest := strings.Contains(filepath.Base(os.Args[0]), ".test") // not one of the programs
	for name, value := range map[string]string{processorsVariable: testProcessors, "EXTSORT_PROFILE": "default"} {
		if isTest && os.Getenv(name) == "" {
			os.Setenv(name, value)
		}
	}
	testscript.Main(m, map[string]func(){
		"extsort": main,
		"status":  statusMain,
		"feed":    feedMain,
		"shared":  sharedMain,
	})
}

const (
	processorsVariable = "GOMAXPROCS"
	testProcessors     = "2"
)

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 shareProcesses(t, "testdata/script/*.txtar"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                scriptCommands(),
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Getuid() == 0, nil
			case "s3":
				return hasS3, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv(processorsVariable, testProcessors)
			addSharedProcess(env)
			return os.Mkdir(filepath.Join(env.WorkDir, "spill"), 0o755)
		},
	})
}

func scriptCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"mk":    makeFile,
		"is":    checkFile,
		"size":  checkSize,
		"empty": checkEmpty,
		"run":   runShared,

		"complains": checkComplaint,
	}
}

func makeFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: mk FILE TYPE VALUE ...")
	}
	data, err := encode(args[1], args[2:])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o644))
}

func checkFile(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: is FILE TYPE VALUE ...")
	}
	want, err := encode(args[1], args[2:])
	ts.Check(err)
	got := []byte(ts.ReadFile(args[0]))
	if bytes.Equal(got, want) == neg {
		ts.Fatalf("%s holds\n%s\nand the values are\n%s", args[0], hex.Dump(got), hex.Dump(want))
	}
}

func checkSize(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if (strconv.FormatInt(info.Size(), 10) == args[1]) == neg {
		ts.Fatalf("%s has %d bytes", args[0], info.Size())
	}
}

func checkEmpty(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if (len(entries) == 0) == neg {
		ts.Fatalf("%s holds %v", args[0], entries)
	}
}

func checkComplaint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: complains PATTERN")
	}
	got := ts.ReadFile("stderr")
	if !regexp.MustCompile(`\Aextsort: ` + args[0] + `\n\z`).MatchString(got) {
		ts.Fatalf("standard error is not one line of that pattern: %q", got)
	}
	if n, isLong := lengthOf(got, ts.Getenv("WORK")); isLong {
		ts.Fatalf("%d characters, the most is %d: shorten %q", n, maxMessage, got)
	}
}

// maxMessage is the maximum length of an error in characters, after "extsort: " and without the
// directory of the test.
const maxMessage = 160

// longMessages lists parts of messages that need more than maxMessage characters. Do not add rows.
var longMessages = []string{
	// Two sorts, the remaining data, and two ways to continue.
	"belongs to another sort",
	"has changed since the plan was made", // two points in time
	// The required size, the bytes written so far, and the system's message.
	"allows no larger file",
	// Two places, the damage, and whether it is another format.
	"was cut short or is damaged",
}

// lengthOf returns the number of characters of an error, and whether there are too many.
func lengthOf(line, directory string) (n int, isLong bool) {
	line = strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "extsort: ")
	n = utf8.RuneCountInString(strings.ReplaceAll(line, directory, ""))
	mayBeLong := slices.ContainsFunc(longMessages, func(words string) bool { return strings.Contains(line, words) })
	return n, n > maxMessage && !mayBeLong
}

// TestLongMessagesAreFound checks the rule for test scripts.
func TestLongMessagesAreFound(t *testing.T) {
	long := strings.Repeat("ü", maxMessage)
	for line, want := range map[string]bool{
		"extsort: " + long + "\n":                          false,
		"extsort: " + long + "x\n":                         true,
		"extsort: /work" + long + "/work\n":                false,
		"extsort: belongs to another sort: " + long + "\n": false,
	} {
		if n, isLong := lengthOf(line, "/work"); isLong != want {
			t.Errorf("%d characters: %t", n, isLong)
		}
	}
}

// encode converts the values of a script to bytes.
func encode(typeName string, values []string) ([]byte, error) {
	if typeName == "hex" {
		return hex.DecodeString(strings.Join(values, ""))
	}
	t, err := format.ParseType(typeName)
	if err != nil {
		return nil, err
	}
	var data []byte
	for _, v := range values {
		bits, err := valueBits(t, v)
		if err != nil {
			return nil, err
		}
		data = appendBits(data, t, bits)
	}
	return data, nil
}

func valueBits(t format.Type, v string) (uint64, error) {
	switch t.Kind {
	case format.Signed:
		n, err := strconv.ParseInt(v, 10, 8*t.Size)
		return uint64(n), err
	case format.Float:
		f, err := strconv.ParseFloat(v, 64)
		if t.Size == 4 {
			return uint64(math.Float32bits(float32(f))), err
		}
		return math.Float64bits(f), err
	}
	return strconv.ParseUint(v, 10, 8*t.Size)
}

func appendBits(data []byte, t format.Type, bits uint64) []byte {
	if t.BigEndian {
		word := binary.BigEndian.AppendUint64(nil, bits)
		return append(data, word[8-t.Size:]...)
	}
	return append(data, binary.LittleEndian.AppendUint64(nil, bits)[:t.Size]...)
}
