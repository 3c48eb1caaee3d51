// `--mode viewer` makes the interactive viewer, as a module and as a plain script; `--mode figure` what Python draws with.
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

const font = (path) => readFileSync(new URL(`node_modules/@expo-google-fonts/arimo/${path}`, import.meta.url));

/** The font of the figures lies beside the scripts, with its licence. */
const fonts = {
  name: "fonts",
  generateBundle() {
    const emit = (fileName, path) => this.emitFile({ type: "asset", fileName, source: font(path) });
    emit("Arimo-Regular.ttf", "400Regular/Arimo_400Regular.ttf");
    emit("Arimo-Bold.ttf", "700Bold/Arimo_700Bold.ttf");
    emit("Arimo-LICENSE.txt", "LICENSE_FONT");
  },
};

export default defineConfig(({ mode }) => ({
  logLevel: "warn",
  publicDir: false,
  plugins: mode === "figure" ? [fonts] : [],
  build: {
    outDir: process.env.XERTE_VIEWER_OUT ?? "../src/xerte/explanation/viewer",
    emptyOutDir: false,
    target: "es2023",
    lib:
      mode === "figure"
        ? { entry: "src/figure.ts", name: "xerteFigures", formats: ["iife"], fileName: () => "figure.js" }
        : {
            entry: "src/index.ts",
            name: "xerteViewer",
            formats: ["iife", "es"],
            fileName: (format) => (format === "es" ? "viewer.mjs" : "viewer.js"),
          },
  },
  test: { include: ["test/**/*.test.ts"], testTimeout: 60_000 },
}));
