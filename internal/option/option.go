// Package option names the options of the library in messages.
//
// A message names an option by its Field, never by a word of its own. The packages below the root
// have fields such as Options.MemoryBytes. The root and the command have their own names, such as
// Resources.Memory and -S, and pass a function with these names to Rename once, before the first
// message. So no finished message is searched for names, since it may contain names of files.
package option

import "fmt"

// A Field is an option: a field of session.Options or of format.Spec, which is Options.Record.
type Field string

// The options that messages name.
const (
	Algorithm     Field = "Options.Algorithm"
	Argsort       Field = "Options.Argsort"
	BatchSize     Field = "Options.BatchSize"
	Checkpoint    Field = "Options.Checkpoint"
	Compress      Field = "Options.Compress"
	Count         Field = "Options.Count"
	Decompress    Field = "Options.Decompress"
	DeviceMemory  Field = "Options.DeviceMemory"
	DigitBits     Field = "Options.DigitBits"
	Duplicates    Field = "Options.Duplicates"
	First         Field = "Options.First"
	Keep          Field = "Options.Keep"
	KeepHeader    Field = "Options.KeepHeader"
	KeepKey       Field = "Options.KeepKey"
	Last          Field = "Options.Last"
	Limit         Field = "Options.Limit"
	Max           Field = "Options.Max"
	MemoryBytes   Field = "Options.MemoryBytes"
	Min           Field = "Options.Min"
	Output        Field = "Options.Output"
	Part          Field = "Options.Part"
	Raw           Field = "Options.Raw"
	Records       Field = "Options.Records"
	Reverse       Field = "Options.Reverse"
	Sink          Field = "Options.Sink"
	SkipBytes     Field = "Options.SkipBytes"
	SkipTail      Field = "Options.SkipTail"
	Sources       Field = "Options.Sources"
	SpillCompress Field = "Options.SpillCompress"
	Strategy      Field = "Options.Strategy"
	Sum           Field = "Options.Sum"
	TempDirs      Field = "Options.TempDirs"
	Unique        Field = "Options.Unique"
	Verify        Field = "Options.Verify"
	Workers       Field = "Options.Workers"

	Fields     Field = "Record.Fields"
	Float      Field = "Record.Float"
	Format     Field = "Record.Format"
	Keys       Field = "Record.Keys"
	Member     Field = "Record.Member"
	NaN        Field = "Record.NaN"
	RecordSize Field = "Record.RecordSize"
	Type       Field = "Record.Type"
)

// rename returns what messages call a field. It is set before the first message.
var rename = func(f Field) string { return string(f) }

// Rename sets what messages call each field. It must be called before any other use of the library: from an init
// function.
func Rename(name func(Field) string) { rename = name }

// String returns what messages call the field.
func (f Field) String() string { return rename(f) }

// An Error reports an invalid value of an option.
type Error struct {
	Field Field  // such as Options.Strategy or Record.Type; empty: several options cannot be combined
	Text  string // the message: it names the option, the problem and what to do
}

func (e *Error) Error() string { return e.Text }

// Errorf returns an *Error. Its message is the name of the field, if any, followed by the formatted text. The text
// therefore begins with a space or a colon.
func Errorf(f Field, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if f != "" {
		text = f.String() + text
	}
	return &Error{Field: f, Text: text}
}
