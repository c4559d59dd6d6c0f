//! Layers become what `umoci unpack` makes of them, which follows the specification of OCI images
//! to the letter: stacks that were thought of, and stacks by chance.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use images::unpack::{
    CatalogRoot, FileContent, Layer, LayerContent, UnpackError, UnpackLimits, Unpacked,
    UnpackedEntry, unpack,
};
use loading::directory::list;

use crate::support::{Archive, Folders, Layout, SeededRandom, digest, run, tool_command};

/// How many stacks by chance are compared.
const STACKS: u64 = 100;

/// A layout with an image for each stack of layers.
struct Images {
    folders: Folders,
    layout: Layout,
    count: usize,
}

impl Images {
    fn new() -> Self {
        let folders = Folders::new();
        let layout = Layout::new(folders.path("layout"));
        Self {
            folders,
            layout,
            count: 0,
        }
    }

    /// Adds an image, whose tag is its number.
    fn image(&mut self, layers: &[Archive]) -> usize {
        self.count += 1;
        let plain: Vec<_> = layers.iter().map(|layer| layer.clone().plain()).collect();
        self.layout.layers(&self.count.to_string(), &[], &plain);
        self.count
    }

    /// Where umoci puts `/configs` of an image.
    fn bundle(&self, image: usize) -> PathBuf {
        self.folders.path(&format!("bundle-{image}/rootfs/configs"))
    }

    /// What umoci makes of `/configs` of an image, or what it says instead.
    fn by_umoci(&self, image: usize) -> Result<BTreeMap<String, String>, String> {
        let bundle = self.folders.path(&format!("bundle-{image}"));
        let name = format!("{}:{image}", self.folders.text("layout"));
        let unpacked = run(tool_command("umoci")
            .args(["unpack", "--rootless", "--image", &name])
            .arg(&bundle));
        if unpacked.status != Some(0) {
            return Err(unpacked.stderr);
        }
        Ok(files(&self.bundle(image)))
    }

    #[track_caller]
    fn is_as_umoci_has_it(&mut self, layers: &[Archive]) -> BTreeMap<String, String> {
        let image = self.image(layers);
        let ours = by_us(layers)
            .map(|ours| entries(&ours))
            .map_err(|error| error.to_string());
        assert_eq!(ours, self.by_umoci(image), "image {image}");
        ours.expect("it is an image")
    }
}

/// What we make of these layers.
fn by_us(layers: &[Archive]) -> Result<Unpacked, UnpackError> {
    let folders = Folders::new();
    let layers = layers.iter().enumerate().map(|(number, layer)| {
        folders.write(&number.to_string(), layer.clone().gzip());
        let diff_id = fbc_grammar::Digest::parse(&digest(&layer.clone().plain()));
        Layer {
            blob: folders.path(&number.to_string()),
            diff_id,
            content: LayerContent::Archive,
        }
    });
    let layers: Vec<_> = layers.collect();
    let root = CatalogRoot::for_artifact(Some("/configs")).expect("it is a directory");
    unpack(
        &layers,
        &root,
        &folders.path(""),
        &UnpackLimits::default(),
        drop,
    )
}

fn text(unpacked: &Unpacked, content: FileContent) -> String {
    let mut text = vec![0; usize::try_from(content.bytes).expect("it is small")];
    unpacked
        .read(content, 0, &mut text)
        .expect("it can be read");
    String::from_utf8(text).expect("it is text")
}

/// Every entry of an image: a file with its text, a link with the text that it leads to.
fn entries(unpacked: &Unpacked) -> BTreeMap<String, String> {
    let all: BTreeMap<_, _> = unpacked
        .entries()
        .iter()
        .map(|(path, entry)| (path, entry))
        .collect();
    let what = |entry: &UnpackedEntry| match entry {
        UnpackedEntry::Folder => "folder".to_owned(),
        UnpackedEntry::File(content) => format!("file {}", text(unpacked, *content)),
        UnpackedEntry::Link(target) => match all.get(target) {
            Some(UnpackedEntry::File(content)) => format!("link to {}", text(unpacked, *content)),
            _ => "link to nothing".to_owned(),
        },
    };
    all.iter()
        .map(|(path, entry)| ((*path).clone(), what(entry)))
        .collect()
}

/// The files of the catalog in an image, with their texts; nothing when it is refused.
fn catalog_of_image(unpacked: &Unpacked) -> Option<Vec<(String, String)>> {
    let files = unpacked.files().ok()?;
    Some(
        files
            .into_iter()
            .map(|file| (file.path, text(unpacked, file.content)))
            .collect(),
    )
}

/// The files of the catalog in a folder.
fn catalog_of_folder(folder: &Path) -> Option<Vec<(String, String)>> {
    let listing = list(folder).ok()?;
    let text = |path: &str| fs::read_to_string(folder.join(path)).expect("it is text");
    Some(
        listing
            .files()
            .iter()
            .map(|file| (file.path.clone(), text(&file.path)))
            .collect(),
    )
}

/// Every entry below a folder: a file with its text, a link with the text that it leads to.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).into_iter().flatten() {
            let path = entry.expect("what was unpacked can be read").path();
            let kind = fs::symlink_metadata(&path)
                .expect("what was unpacked can be read")
                .file_type();
            let name = path
                .strip_prefix(folder)
                .expect("it is below")
                .to_str()
                .expect("names are UTF-8")
                .to_owned();
            let what = if kind.is_dir() {
                folders.push(path);
                "folder".to_owned()
            } else {
                let text = fs::read_to_string(&path).unwrap_or_else(|_| "nothing".to_owned());
                format!(
                    "{} {text}",
                    if kind.is_symlink() { "link to" } else { "file" }
                )
            };
            found.insert(name, what);
        }
    }
    found
}

fn tar() -> Archive {
    Archive::default()
}

#[test]
fn three_layers_that_add_replace_remove_and_add_again_give_what_umoci_gives() {
    let mut images = Images::new();
    let base = tar()
        .folder("configs")
        .file("configs/kept.json", "1")
        .file("configs/replaced.json", "2")
        .file("configs/removed.json", "3")
        .file("configs/back.json", "4")
        .file("configs/etcd/channel.json", "5")
        .file("configs/etcd/package.json", "6")
        .file("configs/argo/catalog.json", "7")
        .file("configs/dir/x", "8")
        .file("etc/passwd", "root");
    let upper = tar()
        .file("configs/replaced.json", "9")
        .file("configs/.wh.removed.json", "")
        .file("configs/.wh.back.json", "")
        .file("configs/etcd/package.json", "10")
        .file("configs/etcd/.wh..wh..opq", "")
        .file("configs/argo/.wh.catalog.json", "")
        .file("configs/dir", "11")
        .hard_link("configs/hard.json", "configs/kept.json")
        .link("configs/link.json", "replaced.json");
    let last = tar()
        .file("configs/back.json", "12")
        .file("configs/argo/catalog.json", "13")
        .folder("configs/dir")
        .file("configs/dir/y", "14")
        .file("configs/.wh.dir", "")
        .file("configs/.wh.kept.json", "");
    let found = images.is_as_umoci_has_it(&[base.clone(), upper.clone(), last.clone()]);
    let expected = [
        ("argo", "folder"),
        ("argo/catalog.json", "file 13"),
        ("back.json", "file 12"),
        ("dir", "folder"),
        ("dir/y", "file 14"),
        ("etcd", "folder"),
        ("etcd/package.json", "file 10"),
        ("hard.json", "file 1"),
        ("link.json", "link to 9"),
        ("replaced.json", "file 9"),
    ];
    assert_eq!(
        found,
        expected
            .map(|(name, what)| (name.to_owned(), what.to_owned()))
            .into()
    );
    // The directory itself removed, and made again.
    let again = tar().file(".wh.configs", "").file("configs/new.json", "15");
    let found = images.is_as_umoci_has_it(&[base, upper, last, again]);
    assert_eq!(
        found,
        [("new.json".to_owned(), "file 15".to_owned())].into()
    );
}

#[test]
fn stacks_by_chance_give_what_umoci_gives() {
    let mut images = Images::new();
    let mut same = 0;
    let mut catalogs = 0;
    for seed in 0..3 * STACKS {
        if same == STACKS {
            assert!((1..STACKS).contains(&catalogs), "{catalogs}");
            return;
        }
        let mut seeded = SeededRandom::new(seed);
        let layers: Vec<_> = (0..2 + seeded.below(3))
            .map(|_| layer(&mut seeded))
            .collect();
        let image = images.image(&layers);
        match by_us(&layers).map_err(|error| error.to_string()) {
            Ok(ours) => match images.by_umoci(image) {
                Ok(umocis) => {
                    assert_eq!(entries(&ours), umocis, "seed {seed}");
                    let expected = catalog_of_folder(&images.bundle(image));
                    assert_eq!(catalog_of_image(&ours), expected, "seed {seed}");
                    (same, catalogs) = (
                        same + 1,
                        catalogs + u64::from(expected.is_some_and(|all| !all.is_empty())),
                    );
                }
                // A layer that does not say that a file became a folder is not for umoci.
                Err(error) => assert!(error.contains("not a directory"), "seed {seed}: {error}"),
            },
            // What is not under the root counts for umoci; a link to a folder is a folder to it.
            Err(error)
                if error.contains(" is below the link ")
                    || error.contains("too many other links") => {}
            Err(error)
                if error.starts_with("the image has no directory ")
                    || error.contains(" of the image is empty") =>
            {
                assert_eq!(
                    images.by_umoci(image),
                    Ok(BTreeMap::new()),
                    "seed {seed}: {error}"
                );
            }
            Err(error) => assert!(images.by_umoci(image).is_err(), "seed {seed}: {error}"),
        }
    }
    panic!("only {same} of {} images are catalogs", 3 * STACKS);
}

/// A layer by chance, with few names so that much is replaced and removed. Most say of every folder
/// that it is one.
fn layer(seeded: &mut SeededRandom) -> Archive {
    let names = ["a", "b", "c"];
    let says_folders = seeded.below(4) > 0;
    let mut files = Vec::new();
    let mut layer = tar();
    for _ in 0..=seeded.below(11) {
        let mut folder = "configs".to_owned();
        for _ in 0..seeded.below(3) {
            folder = format!("{folder}/{}", seeded.choose(&names));
            if says_folders {
                layer = layer.folder(&folder);
            }
        }
        let name = seeded.choose(&names);
        let path = format!("{folder}/{name}");
        layer = match seeded.below(24) {
            0..10 => {
                files.push(path.clone());
                layer.file(&path, &seeded.below(1000).to_string())
            }
            10..13 => layer.folder(&path),
            13..17 => layer.file(&format!("{folder}/.wh.{name}"), ""),
            17..19 => layer.file(&format!("{folder}/.wh..wh..opq"), ""),
            19 => layer.link(&path, seeded.choose::<&str>(&names)),
            20 => layer.file(".wh.configs", ""),
            21 => layer.folder("configs"),
            22 => layer.file(
                &format!("{folder}/.indexignore"),
                seeded.choose::<&str>(&["a", "b/", "*\n!c", "/a/b"]),
            ),
            _ => match files.get(seeded.below(files.len())) {
                Some(file)
                    if !Path::new(file).starts_with(&path)
                        && !Path::new(&path).starts_with(file) =>
                {
                    layer.hard_link(&path, file)
                }
                _ => layer.file("etc/other", ""),
            },
        };
    }
    layer
}
