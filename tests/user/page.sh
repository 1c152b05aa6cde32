# shellcheck shell=bash
# For scripts that run pages of docs (page.py): the folder in which a page runs. Sourced with root, the folder of the sources.

page_folder() { # PAGE FOLDER: makes the folder, with what the page expects to be there
    mkdir -p "$2"
    ln -sfn "$root/examples" "$2/examples"
    case $1 in
    */migrate.md) # a model that Paddle 1.8.5 saved, and a case recorded there
        local saved=$root/tests/data/saved
        mkdir "$2/old_model"
        cp "$saved"/inference_default/[!p]* "$2/old_model"
        cp -r "$saved/inference_default_case" "$2/case"
        sed -i 's|\.\./inference_default|../old_model|' "$2/case/case.txt"
        ;;
    esac
}
