// Command oracle answers questions about translation with Kubernetes' own translator.
//
// Each line of standard input is {"direction": …, "input": …}; each line of standard output is
// {"result": …} or {"error": …}, in the same order. Objects are decoded as the API server decodes
// them, with exact member names, so a member of the wrong type is an error here too.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type question struct {
	Direction string          `json:"direction"`
	Input     json.RawMessage `json:"input"`
}

type answer struct {
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func serve() error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return fmt.Errorf("the question cannot be read: %w", err)
		}
		result, err := translate(asked)
		reply := answer{Result: result}
		if err != nil {
			reply = answer{Error: err.Error()}
		}
		if err := encoder.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}
