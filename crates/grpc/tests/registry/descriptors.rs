//! The descriptors that reflection shows are those of the files in `proto`.

use std::path::Path;

use prost::Message as _;

#[test]
fn the_descriptors_are_those_of_the_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [
        "registry.proto",
        "grpc/health/v1/health.proto",
        "grpc/reflection/v1/reflection.proto",
        "grpc/reflection/v1alpha/reflection.proto",
    ];
    let made = protox::compile(files, [folder.join("proto")])
        .unwrap()
        .encode_to_vec();
    let path = folder.join("src/descriptors.bin");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    assert!(
        std::fs::read(&path).unwrap() == made,
        "run this test with UPDATE_EXPECT=1"
    );
}
