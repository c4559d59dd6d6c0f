//! Reading the files of a tar archive. Layouts with images are tested with those
//! of skopeo.

use super::*;

#[test]
fn a_tar_has_entries_up_to_their_limit_and_only_its_files_count() {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    builder
        .append_data(&mut header, "./index.json", &b"a"[..])
        .unwrap();
    builder
        .append_data(&mut header, "blobs/sha256/00", &b"b"[..])
        .unwrap();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder
        .append_link(&mut header, "oci-layout", "/etc/passwd")
        .unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), builder.into_inner().unwrap()).unwrap();

    let names: Vec<_> = read_tar_files(file.path(), 3)
        .unwrap()
        .into_keys()
        .collect();
    assert_eq!(names, ["blobs/sha256/00", "index.json"]);
    let error = read_tar_files(file.path(), 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot read the layout `{}`: it has more than 2 entries",
            file.path().display()
        )
    );
}
