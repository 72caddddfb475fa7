//! `sqlx::migrate!` reads the folder when it is compiled, but nothing tells cargo that the folder grew.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
