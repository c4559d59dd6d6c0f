// Command recorder runs the library with which oc-mirror filters catalogs, and the check behind `opm validate`.
//
//	recorder filter      reads lines {"catalog": DIR, "operator": ITEM} and prints what the library keeps, a line each
//	recorder validate    reads lines of directories and prints a line for each: `valid`, or the error
//	recorder keep DIR    reads one item and prints only the number of bundles that the library keeps, to measure it
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/pkg/lib/config"
	"github.com/sherine-k/catalog-filter/pkg/filter/mirror-config/v1alpha1"
)

// bounds are the versions that a package or a channel is limited to.
type bounds struct {
	MinVersion string `json:"minVersion"`
	MaxVersion string `json:"maxVersion"`
}

// operator is an item of mirror.operators.
type operator struct {
	Full     bool `json:"full"`
	Packages []struct {
		bounds
		Name           string `json:"name"`
		DefaultChannel string `json:"defaultChannel"`
		Channels       []struct {
			bounds
			Name string `json:"name"`
		} `json:"channels"`
	} `json:"packages"`
}

type request struct {
	Catalog  string   `json:"catalog"`
	Operator operator `json:"operator"`
}

type keptChannel struct {
	Name    string   `json:"name"`
	Entries []string `json:"entries"`
}

type keptPackage struct {
	Name           string        `json:"name"`
	DefaultChannel string        `json:"defaultChannel"`
	Channels       []keptChannel `json:"channels"`
	Bundles        []string      `json:"bundles"`
}

type answer struct {
	Packages []keptPackage `json:"packages,omitempty"`
	Error    string        `json:"error,omitempty"`
}

// constraint is what oc-mirror makes of two bounds.
func (b bounds) constraint() string {
	parts := []string{}
	if b.MinVersion != "" {
		parts = append(parts, ">="+b.MinVersion)
	}
	if b.MaxVersion != "" {
		parts = append(parts, "<="+b.MaxVersion)
	}
	return strings.Join(parts, " ")
}

func (o operator) configuration() v1alpha1.FilterConfiguration {
	made := v1alpha1.FilterConfiguration{}
	for _, item := range o.Packages {
		pkg := v1alpha1.Package{Name: item.Name, DefaultChannel: item.DefaultChannel, VersionRange: item.constraint()}
		for _, channel := range item.Channels {
			pkg.Channels = append(pkg.Channels, v1alpha1.Channel{Name: channel.Name, VersionRange: channel.constraint()})
		}
		made.Packages = append(made.Packages, pkg)
	}
	return made
}

func load(directory string) (*declcfg.DeclarativeConfig, error) {
	return declcfg.LoadFS(context.Background(), os.DirFS(directory))
}

func keep(catalog *declcfg.DeclarativeConfig, item operator) (*declcfg.DeclarativeConfig, error) {
	made := v1alpha1.NewMirrorFilter(item.configuration(), v1alpha1.InFull(item.Full))
	return made.FilterCatalog(context.Background(), catalog)
}

func describe(kept *declcfg.DeclarativeConfig) []keptPackage {
	byName := map[string]*keptPackage{}
	for _, pkg := range kept.Packages {
		byName[pkg.Name] = &keptPackage{Name: pkg.Name, DefaultChannel: pkg.DefaultChannel, Channels: []keptChannel{}, Bundles: []string{}}
	}
	for _, channel := range kept.Channels {
		entries := []string{}
		for _, entry := range channel.Entries {
			entries = append(entries, entry.Name)
		}
		if pkg := byName[channel.Package]; pkg != nil {
			pkg.Channels = append(pkg.Channels, keptChannel{channel.Name, entries})
		}
	}
	for _, bundle := range kept.Bundles {
		if pkg := byName[bundle.Package]; pkg != nil {
			pkg.Bundles = append(pkg.Bundles, bundle.Name)
		}
	}
	all := []keptPackage{}
	for _, pkg := range byName {
		sort.Slice(pkg.Channels, func(a, b int) bool { return pkg.Channels[a].Name < pkg.Channels[b].Name })
		sort.Strings(pkg.Bundles)
		all = append(all, *pkg)
	}
	sort.Slice(all, func(a, b int) bool { return all[a].Name < all[b].Name })
	return all
}

func filter(asked request) answer {
	// The library changes the catalog that it filters.
	catalog, err := load(asked.Catalog)
	if err != nil {
		return answer{Error: err.Error()}
	}
	kept, err := keep(catalog, asked.Operator)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Packages: describe(kept)}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func main() {
	input := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	switch os.Args[1] {
	case "filter":
		encoder := json.NewEncoder(out)
		for decoder := json.NewDecoder(input); decoder.More(); {
			var asked request
			fail(decoder.Decode(&asked))
			fail(encoder.Encode(filter(asked)))
		}
	case "validate":
		lines := bufio.NewScanner(input)
		for lines.Scan() {
			message := "valid"
			if err := config.Validate(context.Background(), os.DirFS(lines.Text())); err != nil {
				message = strings.ReplaceAll(err.Error(), "\n", " ")
			}
			fmt.Fprintln(out, message)
		}
		fail(lines.Err())
	case "keep":
		var item operator
		fail(json.NewDecoder(input).Decode(&item))
		catalog, err := load(os.Args[2])
		fail(err)
		kept, err := keep(catalog, item)
		fail(err)
		fmt.Fprintln(out, len(kept.Bundles))
	}
}
