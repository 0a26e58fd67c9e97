//! Contents in memory and in folders.

use super::*;
use crate::files::Memory;

/// Both kinds of contents do the same.
fn play(contents: &dyn Contents) {
    contents.make("a").expect("make");
    contents.make_dir("a", "Dir").expect("directory");
    contents
        .make_file("a", "dir/File.bin", 3 << 20)
        .expect("file");
    contents
        .write("a", "DIR/file.BIN", 1 << 20, b"hello")
        .expect("write");
    let found = contents
        .find("a", "dir/file.bin")
        .expect("look")
        .expect("there");
    assert_eq!(
        (found.path.as_str(), found.size),
        ("Dir/File.bin", Some(3 << 20))
    );
    assert_eq!(contents.used("a"), 3 << 20);
    contents.copy("a", "b").expect("copy");
    contents
        .write("a", "Dir/File.bin", 1 << 20, b"HELLO")
        .expect("write");
    assert_eq!(
        contents
            .read("b", "Dir/File.bin", 1 << 20, 5)
            .expect("read"),
        b"hello"
    );
    let ranges = contents.ranges("b", "Dir/File.bin").expect("ranges");
    assert!(
        ranges
            .iter()
            .all(|(first, end)| *first <= 1 << 20 && *end > 1 << 20),
        "{ranges:?}"
    );
    contents
        .clear("a", "Dir/File.bin", 1 << 20, 2)
        .expect("clear");
    assert_eq!(
        contents
            .read("a", "Dir/File.bin", 1 << 20, 5)
            .expect("read"),
        b"\0\0LLO"
    );
    moves(contents);
}

/// The rest of it: names and sizes change, and everything goes.
fn moves(contents: &dyn Contents) {
    contents
        .rename("a", "Dir/File.bin", "Dir/other")
        .expect("rename");
    assert_eq!(contents.find("a", "Dir/File.bin").expect("look"), None);
    contents.resize("a", "Dir/other", 10).expect("resize");
    assert_eq!(
        contents.read("a", "Dir/other", 0, 100).expect("read"),
        [0; 10]
    );
    let names: Vec<String> = contents
        .list("a", "Dir")
        .expect("list")
        .into_iter()
        .map(|found| found.path)
        .collect();
    assert_eq!(names, ["Dir/other"]);
    contents.remove("a", "Dir/other").expect("remove");
    contents.remove("a", "Dir").expect("remove");
    assert!(contents.list("a", "").expect("list").is_empty());
    contents.discard("a");
    contents.collect().expect("collect");
    assert!(contents.find("a", "x").is_err() || contents.find("a", "x").expect("look").is_none());
}

#[test]
fn memory_and_folders_do_the_same() {
    play(&Memory::default());
    let dir = tempfile::tempdir().expect("folder");
    play(&Folder::open(dir.path(), &[]).expect("open"));
}

#[test]
fn a_share_without_contents_is_refused_and_leftovers_go() {
    let dir = tempfile::tempdir().expect("folder");
    let folder = Folder::open(dir.path(), &[]).expect("open");
    folder.make("kept").expect("make");
    folder.make("left").expect("make");
    Folder::open(dir.path(), &["kept".to_owned()]).expect("open");
    assert!(!folder.path("left").exists());
    let refused = Folder::open(dir.path(), &["absent".to_owned()]).expect_err("refused");
    assert!(refused.to_string().contains("has no contents"), "{refused}");
}
