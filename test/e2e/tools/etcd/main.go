// Command etcd is the server alone; its project builds it from a module that the proxy does not serve.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
