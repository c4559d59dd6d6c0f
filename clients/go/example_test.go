package catalogql_test

import (
	"context"
	"fmt"
	"log"
	"os"

	catalogql "catalogql.io/client"
)

// The server of the example: `make run` in the root of the repository. A test of the repository runs this with its own.
func server() string {
	if url := os.Getenv("CATALOGQL_SERVER"); url != "" {
		return url
	}
	return "http://127.0.0.1:8080"
}

func Example() {
	client, err := catalogql.New(server())
	if err != nil {
		log.Fatal(err)
	}
	data, err := catalogql.Heads(context.Background(), client, nil, "quillstore")
	if err != nil {
		log.Fatal(err)
	}
	for _, found := range data.Packages.Nodes {
		for _, channel := range found.Channels {
			fmt.Println(channel.Name, channel.Head.Name)
		}
	}
	// Output:
	// candidate quillstore.v2.0.0-rc.1
	// stable quillstore.v1.4.0
}

func ExampleAllPackages() {
	client, err := catalogql.New(server())
	if err != nil {
		log.Fatal(err)
	}
	search := "database"
	filter := &catalogql.PackageFilter{Search: &search}
	for found, err := range catalogql.AllPackages(context.Background(), client, nil, filter) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(found.Name, found.DisplayName)
	}
	// Output:
	// quillstore Quillstore
	// nightjar Nightjar backups
}

func ExampleResolve() {
	client, err := catalogql.New(server())
	if err != nil {
		log.Fatal(err)
	}
	version := "<2.0.0"
	request := catalogql.ResolveRequest{
		PackageName:             "quillstore",
		Version:                 &version,
		UpgradeConstraintPolicy: catalogql.UpgradeConstraintPolicyCatalogProvided,
	}
	// Asked twice: the second response is a confirmation of the first.
	for range 2 {
		data, err := catalogql.Resolve(context.Background(), client, request)
		if err != nil {
			log.Fatal(err)
		}
		switch result := (*data.Resolve).(type) {
		case *catalogql.ResolveResolveResolution:
			fmt.Println(result.Bundle.Name)
		case *catalogql.ResolveResolveResolutionFailure:
			fmt.Println(result.Code, result.Message)
		}
	}
	// Output:
	// quillstore.v1.4.0
	// quillstore.v1.4.0
}
