// Serves a directory by catalogd's own storage and handlers, without a cluster, for benches/http/alpha.py.
//
// catalogd's packages are internal, so that this is built within its sources: copy it to cmd/catalogd-alpha of a checkout of
// github.com/operator-framework/operator-controller (df2c201d has the alpha GraphQL) and run `go build ./cmd/catalogd-alpha`.
package main

import (
	"context"
	"log"
	"net/http"
	"net/url"
	"os"

	"github.com/operator-framework/operator-controller/internal/catalogd/storage"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: catalogd-alpha HOST:PORT STORE NAME DIRECTORY")
	}
	address, folder, name, directory := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	root := &url.URL{Scheme: "http", Host: address, Path: "/catalogs/"}
	store := storage.NewLocalDirV1(folder, root, storage.MetasHandlerEnabled, storage.GraphQLQueriesEnabled)
	if err := store.Store(context.Background(), name, os.DirFS(directory)); err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(address, store.StorageServerHandler()))
}
