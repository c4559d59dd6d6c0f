package catalogql

import (
	"context"
	"iter"
	"maps"
	"slices"
)

// AllPackages returns the packages of these catalogs, or of every catalog if none is given, that meet a filter, which may be
// nil. If a content changes between two pages, the sequence ends with ErrChanged.
func AllPackages(
	ctx context.Context, client *Client, catalogs []string, filter *PackageFilter,
) iter.Seq2[PackagesPackagesPackageConnectionNodesPackage, error] {
	return pages(catalogs, func(after *string) (page[PackagesPackagesPackageConnectionNodesPackage], error) {
		var next page[PackagesPackagesPackageConnectionNodesPackage]
		data, err := Packages(ctx, client, catalogs, filter, pageSize, after)
		if err != nil {
			return next, err
		}
		next.served = map[string]string{}
		for _, catalog := range data.Served {
			next.served[catalog.Name] = catalog.Digest
		}
		if data.Packages != nil {
			info := data.Packages.PageInfo
			next.nodes, next.hasNext, next.after = data.Packages.Nodes, info.HasNextPage, info.EndCursor
		}
		return next, nil
	})
}

// AllBundles returns the bundles of these packages, as AllPackages returns packages.
func AllBundles(
	ctx context.Context, client *Client, catalogs, packages []string, filter *BundleFilter,
) iter.Seq2[BundlesBundlesBundleConnectionNodesBundle, error] {
	return pages(catalogs, func(after *string) (page[BundlesBundlesBundleConnectionNodesBundle], error) {
		var next page[BundlesBundlesBundleConnectionNodesBundle]
		data, err := Bundles(ctx, client, catalogs, packages, filter, pageSize, after)
		if err != nil {
			return next, err
		}
		next.served = map[string]string{}
		for _, catalog := range data.Served {
			next.served[catalog.Name] = catalog.Digest
		}
		if data.Bundles != nil {
			info := data.Bundles.PageInfo
			next.nodes, next.hasNext, next.after = data.Bundles.Nodes, info.HasNextPage, info.EndCursor
		}
		return next, nil
	})
}

// page is a part of a list.
type page[T any] struct {
	// served has the digest of each catalog by its name.
	served  map[string]string
	nodes   []T
	hasNext bool
	after   *string
}

func pages[T any](catalogs []string, read func(after *string) (page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var (
			none   T
			after  *string
			before map[string]string
		)
		for {
			next, err := read(after)
			if err != nil {
				yield(none, err)
				return
			}
			maps.DeleteFunc(next.served, func(name, _ string) bool {
				return len(catalogs) > 0 && !slices.Contains(catalogs, name)
			})
			if before != nil && !maps.Equal(before, next.served) {
				yield(none, ErrChanged)
				return
			}
			for _, node := range next.nodes {
				if !yield(node, nil) {
					return
				}
			}
			if !next.hasNext || next.after == nil {
				return
			}
			before, after = next.served, next.after
		}
	}
}
