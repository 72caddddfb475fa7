//! `fixtures/repositories/modules`: where each import of it says that it leads.

use std::path::Path;

use super::Modules;
use crate::tree::Tree;
use crate::walk::{Limits, walk};

#[test]
fn imports_lead_where_their_package_lets_them_and_nowhere_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/repositories/modules");
    let tree = Tree::open(&root, None).unwrap();
    let walked = walk(&tree, Limits::default());
    let (manifests, _) = walked.manifests.read(&tree);
    let paths: Vec<&str> = walked.candidates.iter().map(|candidate| candidate.path.as_str()).collect();
    let mut modules = Modules::new(&paths, &manifests.files);
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for path in &paths {
        for (index, line) in std::fs::read_to_string(root.join(path)).unwrap().lines().enumerate() {
            let Some((import, expected)) = line.split_once("; // -> ") else { continue };
            let specifier = import.split('\'').nth(1).unwrap();
            let found = modules.resolve(path, specifier).map_or("nothing", |at| paths[at as usize]);
            looked_at += 1;
            if found != expected {
                wrong.push(format!("{path}:{} `{specifier}` leads to {found}, not {expected}", index + 1));
            }
        }
    }
    assert!(looked_at > 60, "{looked_at} imports say where they lead");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
