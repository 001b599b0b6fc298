// Light, dark, or as the reader's machine is: set before anything is painted.
try {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing shows what its machine prefers.
}
