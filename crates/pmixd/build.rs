//! Lets libpmix, which is opened at run time, find this program's `listen` and `accept` before those of the C library.

fn main() {
    for name in ["listen", "accept"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
