//! The common parts of all pictures of this crate: text as XML, and the window of a terminal.

use std::fmt::Write as _;

/// Width of a letter in a window, and the room around the letters (pixels).
pub(crate) const LETTER: f64 = 7.83;
pub(crate) const MARGIN: usize = 18;
/// The bar of a window.
pub(crate) const BAR: usize = 34;

/// Writes a text so that XML takes none of it for its own.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns the width of a window of so many letters (pixels).
pub(crate) fn width(columns: usize) -> usize {
    (columns as f64 * LETTER).ceil() as usize + 2 * MARGIN
}

/// The beginning of a picture of a window: its frame. The style has the classes `bg` and `dot`.
pub(crate) fn window(title: &str, width: usize, height: usize, style: &str) -> String {
    let title = escaped(title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" xml:space=\"preserve\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
         <style>\n{style}</style>\n<rect class=\"bg\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        width - 1,
        height - 1
    );
    for dot in 0..3 {
        let _ = writeln!(out, "<circle class=\"dot\" cx=\"{}\" cy=\"17\" r=\"5\"/>", 20 + 18 * dot);
    }
    out
}
