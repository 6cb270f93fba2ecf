//! Lets libpmix, which is opened at run time, find this program's `listen`, `accept`, `connect` and `writev` before
//! those of the C library. A version script names them: every linker knows it, also Zig's, with which packages are
//! made.

fn main() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/exports.map");
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic");
    println!("cargo:rustc-link-arg-bins=-Wl,--version-script={script}");
    println!("cargo:rerun-if-changed=exports.map");
    println!("cargo:rerun-if-changed=build.rs");
}
