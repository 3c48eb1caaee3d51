// The page of `xerte serve`: index.html and its scripts, under fixed names; the viewer is a script of its own.
import { defineConfig } from "vite";

export default defineConfig({
  root: "app",
  base: "./",
  logLevel: "warn",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: process.env.XERTE_PAGE_OUT ?? "../../src/xerte/app/page",
    emptyOutDir: true,
    target: "es2023",
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: { entryFileNames: "app.js", chunkFileNames: "[name].js", assetFileNames: "[name][extname]" },
    },
  },
});
