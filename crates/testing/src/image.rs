//! Helpers of the benches of time and of memory: a catalog as an image, and a server whose resources
//! are measured.

use std::io::{BufRead, BufReader, Read, Write, copy, sink};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use serde_json::Value;

use crate::{CONFIGS, Layout};

/// Unit of CPU time in `/proc`: a hundredth of a second on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// A catalog in an image of one layer, in an OCI layout.
pub struct CatalogImage {
    /// Source of the image for `catalogql serve`.
    pub source: String,
    /// Path of the compressed layer.
    layer: PathBuf,
}

impl CatalogImage {
    /// Packs the catalog in a directory into a new layout in the folder `scratch`.
    #[must_use]
    pub fn new(catalog: &Path, scratch: &Path) -> Self {
        let layout = Layout::new(scratch.join("layout"));
        let mut archive = tar::Builder::new(Vec::new());
        archive
            .append_dir_all("configs", catalog)
            .expect("the catalog can be read");
        let archive = archive.into_inner().expect("memory can be written");
        let manifest = layout.layers("v1", &[CONFIGS], &[archive]);
        let manifest = std::fs::read(layout.blob(&manifest)).expect("the layout can be read");
        let manifest: Value = serde_json::from_slice(&manifest).expect("a manifest is JSON");
        let layer = layout.blob(
            manifest["layers"][0]["digest"]
                .as_str()
                .expect("it has a layer"),
        );
        Self {
            source: layout.source("v1"),
            layer,
        }
    }

    /// Decompresses the layer, drops what comes, and returns how many bytes that is.
    pub fn uncompress(&self) -> u64 {
        let layer = std::fs::File::open(&self.layer).expect("the layer is there");
        let mut layer = MultiGzDecoder::new(BufReader::with_capacity(64 * 1024, layer));
        copy(&mut layer, &mut sink()).expect("the layer is whole")
    }
}

/// A server over one source, as a child process; it is killed when it is dropped.
pub struct MeasuredServer {
    child: Child,
}

impl MeasuredServer {
    /// Starts a program, the path of `catalogql`, over a source, and waits until it has answered a
    /// request.
    pub fn start(program: &str, source: &str, store: &Path) -> Self {
        let mut child = Command::new(program)
            .args(["serve", source, "--listen", "127.0.0.1:0", "--store"])
            .arg(store)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut lines = output.lines().map_while(Result::ok);
        let line =
            lines.find_map(|line| Some(line.strip_prefix("Listening on http://")?.to_owned()));
        let address = line.expect("the server says where it listens");
        wait_for_answer(address.strip_suffix("/graphql").expect("GraphQL is there"));
        Self { child }
    }

    /// Returns the text of a file of the process in `/proc`, such as `status`.
    pub fn proc_file(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id()))
            .expect("the server runs")
    }

    /// Returns the CPU time of the server so far, on all threads: in user mode, and in the kernel.
    pub fn cpu_times(&self) -> [Duration; 2] {
        let stat = self.proc_file("stat");
        // The name of the program stands in parentheses and may itself hold some.
        let (_, rest) = stat.rsplit_once(") ").expect("Linux says it");
        let fields: Vec<_> = rest.split(' ').collect();
        [11, 12].map(|field| TICK * fields[field].parse().expect("a number"))
    }
}

impl Drop for MeasuredServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks for the names of the catalogs, and returns when they came.
fn wait_for_answer(address: &str) {
    let body = r#"{"query":"{ catalogs { name } }"}"#;
    let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json";
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream
        .write_all(request.as_bytes())
        .expect("it reads requests");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("it answers in UTF-8");
    assert!(
        answer.contains(r#"{"data":{"catalogs":[{"name":""#),
        "{answer}"
    );
}
